"""The start in closed form: what the curves of a drive show without a simulation."""
