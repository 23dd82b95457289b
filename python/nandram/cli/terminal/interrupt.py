"""Ctrl-C ends any command with one line and status 130."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import typer

P = ParamSpec("P")
R = TypeVar("R")


def interruptible(command: Callable[P, R]) -> Callable[P, R]:
    """Wrap a command so that `main` reports an interrupt; typer itself would exit silently."""

    @functools.wraps(command)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        try:
            return command(*arguments, **options)
        except KeyboardInterrupt:
            raise typer.Abort from None

    return call
