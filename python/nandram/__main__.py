"""Entry point of ``python -m nandram``."""

from nandram.cli import main

main()
