"""Files of other simulators, turned into system files, jobs and traces: MQSim's XML."""
