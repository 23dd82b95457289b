"""A process that makes runs: the measures, then a run a line come in; a row a line goes out, until nothing comes in."""

import json
import signal
import sys

from nandram.errors import UserError
from nandram.sweeping.work import Work, run


def main() -> None:
    """Make what is asked."""
    # Ctrl-C is for whoever asked, and ends this process when it has seen to its own.
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
