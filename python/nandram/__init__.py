"""nandram: describe a machine of flash and DRAM in one file, and simulate it."""
