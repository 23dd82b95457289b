"""Worker process: reads the measures, then one run per line, and writes one row per line until end of input."""

import json
import signal
import sys

from nandram.errors import UserError
from nandram.sweep.work import Work, run


def main() -> None:
    """Run the requested configurations."""
    # The parent process handles Ctrl-C and ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    measures = json.loads(sys.stdin.readline())
    for line in sys.stdin:
        try:
            row = run(Work(**json.loads(line)), measures)
        except UserError as error:
            row = {"error": str(error)}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
