"""Entry point of the command and of ``python -m nandram``."""

import gc
import sys


def main() -> None:
    """Run the command line; an interrupt while it is imported ends in one line, too."""
    try:
        from nandram import cli

        cli.main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        # Without the clean-up of the interpreter, which a second interrupt could interrupt in turn.
        sys.stderr.flush()
        import os

        os._exit(130)
    finally:
        # On exit, Python searches all objects for reference cycles, which takes a tenth of a short command's time.
        # It leaves out frozen objects.
        gc.freeze()


if __name__ == "__main__":
    main()
