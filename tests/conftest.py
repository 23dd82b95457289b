"""What all tests share."""

from hypothesis import settings

# The same examples on every machine: a failure in CI is the failure at home.
settings.register_profile("nandram", derandomize=True, deadline=None, database=None)
settings.load_profile("nandram")
