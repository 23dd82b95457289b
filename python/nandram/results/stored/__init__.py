"""Files of an output folder: tables, the inputs of the run, and running these again."""
