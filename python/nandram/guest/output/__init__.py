"""A guest's output as it comes, and the archive of its files."""
