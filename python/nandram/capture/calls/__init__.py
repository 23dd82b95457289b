"""System calls of a traced program: what they read and write of which file."""
