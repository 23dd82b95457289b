"""The inputs of a run in its output folder, and running them again."""
