"""Options of a run, from the command line or from Python."""

import math
import os
from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NotRequired, TypedDict

from nandram.errors import UserError


class Payload(StrEnum):
    """Data that simulated flash stores."""

    NONE = "none"
    STAMP = "stamp"
    """8 bytes per sector, which verify every sector that is read."""


class Precondition(StrEnum):
    """State of a drive before a run."""

    NONE = "none"
    FILL = "fill"
    """Written once in order."""
    RANDOM = "random"
    """Filled, then overwritten at random until write amplification settles."""
    STEADY = "steady"
    """The state after random overwrites, computed from theory."""
    RESTED = "rested"
    """The steady state after a pause."""


class RunPrecondition(StrEnum):
    """State of a drive before a run, chosen or by default."""

    AUTO = "auto"
    """Filled if the workload reads what it has not written, else ``none``."""
    NONE = Precondition.NONE
    FILL = Precondition.FILL
    RANDOM = Precondition.RANDOM
    STEADY = Precondition.STEADY
    RESTED = Precondition.RESTED


class ContinueOnError(StrEnum):
    """Failed requests that are counted and do not end their job."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    IO = "io"
    VERIFY = "verify"
    ALL = "all"


class RunOptions(TypedDict):
    """Options of the native `run`; missing keys have their defaults."""

    seed: int
    payload: Payload
    timeline: bool
    wrap: bool
    """Whether trace addresses beyond the drive's capacity wrap around; otherwise they are an error."""
    precondition: NotRequired[RunPrecondition]
    cache: NotRequired[str]
    """Cache folder for prepared drives; without it, none are cached."""
    warm_up: NotRequired[str]
    """Warm-up to exclude from the statistics: ``detect``, ``keep`` (exclude nothing) or a time such as ``50ms``."""
    replay: NotRequired[Literal["open", "closed", "scaled"]]
    """Replay of traces: at the recorded times, at a constant depth, or at the times scaled by `replay_factor`."""
    replay_depth: NotRequired[int]
    """With ``closed``: number of outstanding requests."""
    replay_factor: NotRequired[float]
    """With ``scaled``: factor for the times; 0.5 replays twice as fast."""
    continue_on_error: NotRequired[str]
    """Requests whose errors are only counted, for jobs without this key: fio's values, from ``none`` to ``all``."""
    log: NotRequired[bool]
    """Whether to keep a log of every request."""
    columns: NotRequired[str]
    """Columns of a text trace of unknown format."""
    until: NotRequired[Literal["job", "always", "where-possible", "unsized"]]
    """Jobs whose end is replaced: the run goes on until the intervals of its measures are narrow. ``job``: none."""
    until_width: NotRequired[float]
    """Half the width of the 95 % interval, as a part of the value."""
    until_requests: NotRequired[int]
    """Maximum number of requests of such a run."""
    partial: NotRequired[bool]
    """Whether an interrupted run returns what it has measured."""
    arguments: NotRequired[list[str]]
    """fio's options in place of a file."""


SEED_MAX = (1 << 64) - 1


def default_cache() -> str:
    """Return the default cache folder: ``$NANDRAM_CACHE``, or ``nandram`` in the user's cache folder."""
    chosen = os.environ.get("NANDRAM_CACHE")
    if chosen:
        return chosen
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "nandram")


def run_options(
    seed: int,
    payload: str,
    timeline: bool,
    wrap: bool,
    precondition: str | None,
    replay: str | None,
    warm_up: str | None,
    cache: str | None,
    columns: str | None = None,
    continue_on_error: str | None = None,
    until: str | None = None,
    max_requests: int | None = None,
) -> RunOptions:
    """Check the options and convert them for the native module. Raises `UserError`."""
    check_seed(seed)
    texts = {
        "payload": payload,
        "precondition": precondition,
        "replay": replay,
        "warm_up": warm_up,
        "columns": columns,
        "continue_on_error": continue_on_error,
        "until": until,
    }
    _check_texts(texts)
    options = RunOptions(
        seed=seed,
        payload=Payload(one_of("payload", payload, tuple(Payload))),
        timeline=timeline,
        wrap=wrap,
    )
    if precondition is not None:
        options["precondition"] = RunPrecondition(one_of("precondition", precondition, tuple(RunPrecondition)))
    if replay is not None:
        _set_replay(options, replay)
    if warm_up is not None:
        options["warm_up"] = warm_up
    if cache is not None:
        options["cache"] = cache
    if columns is not None:
        options["columns"] = columns
    if continue_on_error is not None:
        options["continue_on_error"] = continue_on_error
    _set_until(options, until, max_requests)
    return options


DEFAULT_WIDTH = "1%"
"""Half the width of the intervals until which a run goes on by default."""


WIDTH_MIN, WIDTH_MAX = 0.1, 50.0
"""Range of the width in percent; response times are known to 0.1 %."""


def where_possible(width: str) -> str:
    """Return the value of `until` for jobs whose end can be replaced; others end as usual."""
    return f"{width} where possible"


def _set_until(options: RunOptions, text: str | None, max_requests: object) -> None:
    if max_requests is not None:
        if text == "job":
            raise UserError("max_requests: found with until=`job`, expected a width such as 1%")
        options["until"] = "unsized"
        options["until_requests"] = at_least_one("max_requests", max_requests)
    if text == "job":
        options["until"] = "job"
    elif text is not None:
        width = text.removesuffix(" where possible")
        options["until"] = "always" if width == text else "where-possible"
        options["until_width"] = _width(width)


def _width(text: str) -> float:
    number = text.removesuffix("%")
    try:
        width = float(number) if number != text else math.nan
    except ValueError:
        width = math.nan
    if not WIDTH_MIN <= width <= WIDTH_MAX:
        raise UserError(f"until: found `{text}`, expected `job`, or a part of the value from 0.1% to 50%")
    return width / 100


def check_seed(seed: object) -> None:
    """Raise `UserError` unless `seed` is one."""
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= SEED_MAX:
        raise UserError(f"seed: found {seed!r}, expected a whole number from 0 to {SEED_MAX}")


def _check_texts(options: Mapping[str, object]) -> None:
    """Raise `UserError` for values from Python that are not strings."""
    for name, value in options.items():
        if value is not None or name == "payload":
            text_of(name, value)


def _set_replay(options: RunOptions, text: str) -> None:
    kind, colon, value = text.partition(":")
    if kind == "open" and not colon:
        options["replay"] = "open"
    elif kind == "closed":
        if not value.isascii() or not value.isdigit() or not 0 < int(value) < 1 << 32:
            raise UserError(f"replay: found `{text}`, expected closed:DEPTH with a whole number from 1")
        options["replay"] = "closed"
        options["replay_depth"] = int(value)
    elif kind == "scaled":
        try:
            factor = float(value)
        except ValueError:
            factor = math.nan
        if not (factor > 0 and math.isfinite(factor)):
            raise UserError(f"replay: found `{text}`, expected scaled:FACTOR with a number above 0")
        options["replay"] = "scaled"
        options["replay_factor"] = factor
    else:
        forms = "open, closed:DEPTH or scaled:FACTOR"
        raise UserError(f"replay: found `{text}`, expected {forms}{nearest(kind, ('open', 'closed', 'scaled'))}")


def text_of(name: str, value: object) -> str:
    """Return `value` if it is a string. Raises `UserError`."""
    if not isinstance(value, str):
        raise UserError(f"{name}: found {value!r}, expected a text")
    return value


def at_least_one(name: str, value: object) -> int:
    """Return `value` if it is a whole number of at least 1. Raises `UserError`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UserError(f"{name}: found {value!r}, expected a whole number from 1")
    return value


def at_a_time(jobs: object) -> int:
    """Return the number of parallel runs: `jobs`, or the number of processors that this process may use."""
    if jobs is not None:
        return at_least_one("jobs", jobs)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    """Return `value` if it is one of `known`. Raises `UserError`."""
    if value in known:
        return value
    raise UserError(not_one_of(name, value, known))


def not_one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    """Return the message for a value that is none of `known`."""
    return f"{name}: found `{value}`, expected {', '.join(known[:-1])} or {known[-1]}{nearest(value, known)}"


def nearest(value: str, known: tuple[str, ...]) -> str:
    """Return the end of a message that names the value of `known` closest to `value`; empty if none is close."""
    import difflib

    near = difflib.get_close_matches(value, known, 1)
    return f"; the nearest is `{near[0]}`" if near else ""


def set_lines(changes: Mapping[str, object]) -> list[str]:
    """Return changes of system keys in the form of `--set`, ``key=value``. Raises `UserError`."""
    _check_changes(changes)
    return [f"{key}={_toml(value)}" for key, value in changes.items()]


def _check_changes(changes: object) -> None:
    if not isinstance(changes, Mapping):
        raise UserError(f'set: found a {type(changes).__name__}, expected a dict such as {{"flash.read": "80us"}}')


def _toml(value: object) -> str:
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "ndim", None) == 0:
        value = item()  # a NumPy scalar
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_quoted(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_quoted(item)}" for key, item in value.items()) + " }"
    raise UserError(f"set: found a {type(value).__name__}, expected a string, a number, a boolean, a list or a dict")


def _quoted(value: object) -> str:
    if isinstance(value, str):
        import json

        return json.dumps(value, ensure_ascii=False)
    return _toml(value)
