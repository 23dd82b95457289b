"""The log of ``strace -f -ttt -y``, line by line, as system calls.

A call that another thread interrupts is printed in two parts (``<unfinished ...>``, ``<... resumed>``). Both
parts matter: a descriptor means what it meant when the call began, an offset what it was when the call ended.
So each call is reported twice, as it begins and as it ends.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto

from nandram.capture.calls.arguments import close_parenthesis
from nandram.capture.calls.tables import Description


class Moment(Enum):
    """An event in a line of the log."""

    BEGIN = auto()
    """A call began; its arguments may be incomplete."""
    END = auto()
    """A call ended; its arguments and its result are complete."""
    ABANDONED = auto()
    """A call that began will not end: its thread is going."""
    EXIT = auto()
    """The thread is gone."""
    SUPERSEDED = auto()
    """The thread is gone because another one of its process (`Call.value`) runs a new program."""
    UNKNOWN = auto()
    """The line could not be read."""


@dataclass(slots=True)
class Call:
    """One system call of one thread."""

    pid: int
    """The thread's number, as strace prints it."""
    at_us: int
    """When it began, in microseconds since the epoch."""
    name: str
    arguments: str
    """The text between the parentheses."""
    value: int | None = None
    """The result; None if the call failed, or never returned."""
    path: str | None = None
    """What the returned descriptor is open on, still escaped, if the result is a descriptor."""
    bound: Description | None = None
    """What the call's first descriptor meant when the call began; the recorder sets it."""


Event = tuple[Moment, Call]

_LINE = re.compile(r"(\d+)\s+(\d+)\.(\d{6}) (.*)", re.DOTALL)
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed> ?(.*)", re.DOTALL)
_RESULT = re.compile(r"\)?\s*= (0x[0-9a-f]+|-?\d+|\?)(?:<([^>]*)>)?(.*)", re.DOTALL)
_SUPERSEDED = re.compile(r"\+\+\+ superseded by execve in pid (\d+) \+\+\+")
_UNFINISHED = "<unfinished ...>"


def events(lines: Iterable[str]) -> Iterator[Event]:
    """Yield what happened, in the order of the log."""
    unfinished: dict[int, Call] = {}
    for line in lines:
        match = _LINE.match(line.rstrip("\n"))
        if match is None:
            if line.strip():
                yield Moment.UNKNOWN, Call(0, 0, "", line)
            continue
        pid = int(match[1])
        at_us = int(match[2]) * 1_000_000 + int(match[3])
        body = match[4]
        first = body[:1]
        if first == "<":
            resumed = _RESUMED.match(body)
            pending = unfinished.pop(pid, None)
            if resumed is None or pending is None or pending.name != resumed[1]:
                yield Moment.UNKNOWN, Call(pid, at_us, "", body)
                continue
            pending.arguments += resumed[2]
            yield _ended(pending)
        elif first == "+":
            pending = unfinished.pop(pid, None)
            superseded = _SUPERSEDED.match(body)
            if superseded is None:
                if pending is not None:
                    yield Moment.ABANDONED, pending
                yield Moment.EXIT, Call(pid, at_us, "", body)
                continue
            leader = int(superseded[1])
            if leader in unfinished:
                yield Moment.ABANDONED, unfinished.pop(leader)
            # The call to execve returns in the leader.
            if pending is not None:
                pending.pid = leader
                unfinished[leader] = pending
            yield Moment.SUPERSEDED, Call(pid, at_us, "", body, leader)
        elif first == "-":
            continue  # a signal
        else:
            name, parenthesis, rest = body.partition("(")
            call = Call(pid, at_us, name, rest)
            if not parenthesis or not name.isidentifier():
                yield Moment.UNKNOWN, call
            elif rest.endswith(_UNFINISHED):
                call.arguments = rest[: -len(_UNFINISHED)].rstrip(" ")
                # The rest follows in the resumed line: keep the separator between the two.
                if call.arguments.endswith(","):
                    call.arguments += " "
                unfinished[pid] = call
                yield Moment.BEGIN, call
            else:
                moment, call = _ended(call)
                if moment is Moment.END:
                    yield Moment.BEGIN, call
                yield moment, call


def _ended(call: Call) -> Event:
    """Split ``arguments) = result`` and read the result."""
    text = call.arguments
    cut = text.find(" = ")
    if cut >= 0 and text.find(" = ", cut + 3) < 0:
        end = text.rfind(")", 0, cut)
    else:  # a name in the arguments or in the result holds an equals sign
        end = close_parenthesis(text)
    result = _RESULT.match(text, end) if end >= 0 else None
    if result is None:
        return Moment.UNKNOWN, call
    call.arguments = text[:end]
    value = result[1]
    # A call that strace saw die with its process prints a question mark.
    if value != "?":
        number = int(value, 0)
        call.value = number if number >= 0 or not result[3].startswith(" E") else None
    call.path = result[2]
    return Moment.END, call
