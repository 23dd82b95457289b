"""Ctrl-C: one line and status 130, whatever a command is at."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import typer

P = ParamSpec("P")
R = TypeVar("R")


def interruptible(command: Callable[P, R]) -> Callable[P, R]:
    """Return a command of which an interruption is told by `main`: typer itself would say nothing."""

    @functools.wraps(command)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        try:
            return command(*arguments, **options)
        except KeyboardInterrupt:
            raise typer.Abort from None

    return call
