"""Progress bars with rate and remaining time, on terminals only."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress_bar(label: str) -> Iterator[Callable[[float], None] | None]:
    """Yield a function to call with the fraction done; None if standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task(label, total=1.0)
        yield lambda fraction: progress.update(task, completed=fraction)


@contextlib.contextmanager
def run_progress() -> Iterator[Callable[[float, float, int], bool]]:
    """Yield a `simulate.Progress`: a function of the fraction done, the simulated seconds and the completed requests.

    If standard error is not a terminal, calling it only lets Python handle Ctrl-C.
    """
    if not sys.stderr.isatty():
        yield lambda _fraction, _simulated_s, _done: True
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    with Progress(
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        # The duration of the preparation is unknown.
        task = bar.add_task("preparing the drive", total=None)
        started: float | None = None

        def update(fraction: float, simulated_s: float, done: int) -> bool:
            nonlocal started
            if fraction > 0 or done > 0:
                if started is None:
                    started = time.monotonic()
                    bar.reset(task, total=1.0)
                elapsed = time.monotonic() - started
                rate = f", {done / elapsed:,.0f}/s" if elapsed > 0 else ""
                text = f"{done:,} requests{rate}, {simulated_s:.3f} s simulated"
                bar.update(task, completed=fraction, description=text)
            return True

        yield update


@contextlib.contextmanager
def counted_progress(
    noun: str, *, rate: bool = False, about: Callable[[], str] | None = None
) -> Iterator[Callable[[int, int, float], None] | None]:
    """Yield a function of the items done, the total and the fraction done; None if standard error is no terminal.

    `about`: what the items are for, shown before their number.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    with Progress(
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(noun, total=None)
        started, first = time.monotonic(), -1

        def update(done: int, of: int, fraction: float) -> None:
            nonlocal first
            first = done if first < 0 else first
            elapsed = time.monotonic() - started
            a_second = f", {(done - first) / elapsed:,.1f}/s" if rate and elapsed > 0 else ""
            text = f"{done:,} of {of:,} {noun}{a_second}"
            bar.update(task, total=1.0, completed=fraction, description=f"{about()}: {text}" if about else text)

        yield update
