"""The options of a run, as the command line and Python give them."""

import math
import os
from collections.abc import Mapping
from typing import Literal, NotRequired, TypedDict, cast

from nandram.errors import UserError

Payload = Literal["none", "stamp"]
Precondition = Literal["none", "fill", "random", "steady", "rested"]

PAYLOADS: tuple[Payload, ...] = ("none", "stamp")
PRECONDITIONS: tuple[Precondition, ...] = ("none", "fill", "random", "steady", "rested")


class RunOptions(TypedDict):
    """What the native `run` takes beside the system and the workload; a key that is left out has its default."""

    seed: int
    payload: Payload
    """``stamp``: every sector read is checked."""
    timeline: bool
    wrap: bool
    """Addresses of a trace beyond the drive: wrapped into it, or else an error."""
    precondition: NotRequired[Precondition]
    """``fill``: written once in order; ``random``: and overwritten at random until write amplification settles;
    ``steady``: laid out as that would leave it, from theory; ``rested``: the same after a pause."""
    cache: NotRequired[str]
    """The folder in which prepared drives are kept; if it is left out, none are."""
    warm_up: NotRequired[str]
    """What is cut off the beginning of the statistics: ``detect``, ``keep`` or a time, such as ``50ms``."""
    replay: NotRequired[Literal["open", "closed", "scaled"]]
    """Traces: when they say, as fast as they are served, or when they say times `replay_factor`."""
    replay_depth: NotRequired[int]
    """With ``closed``: requests outstanding."""
    replay_factor: NotRequired[float]
    """With ``scaled``: the factor on the times; 0.5 is twice as fast."""
    continue_on_error: NotRequired[str]
    """Errors that are counted and do not end a job that does not say itself: fio's names, from ``none`` to ``all``."""
    columns: NotRequired[str]
    """Where the fields of a trace of no known format stand."""


SEED_MAX = (1 << 64) - 1


def default_cache() -> str:
    """Return where prepared drives are kept unless the user says: ``$NANDRAM_CACHE``, or in the user's cache folder."""
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
) -> RunOptions:
    """Check the options and put them into the form the native module takes. Raises `UserError`."""
    _check_seed(seed)
    texts = {
        "payload": payload,
        "precondition": precondition,
        "replay": replay,
        "warm_up": warm_up,
        "columns": columns,
        "continue_on_error": continue_on_error,
    }
    _check_texts(texts)
    options = RunOptions(
        seed=seed,
        payload=cast("Payload", one_of("payload", payload, PAYLOADS)),
        timeline=timeline,
        wrap=wrap,
    )
    if precondition is not None:
        options["precondition"] = cast("Precondition", one_of("precondition", precondition, PRECONDITIONS))
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
    return options


def _check_seed(seed: object) -> None:
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= SEED_MAX:
        raise UserError(f"seed: found {seed!r}, expected a whole number from 0 to {SEED_MAX}")


def _check_texts(options: Mapping[str, object]) -> None:
    """What Python's callers may have given that is no text."""
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
    """Return `value`, a text. Raises `UserError`."""
    if not isinstance(value, str):
        raise UserError(f"{name}: found {value!r}, expected a text")
    return value


def at_least_one(name: str, value: object) -> int:
    """Return `value`, a whole number from 1. Raises `UserError`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UserError(f"{name}: found {value!r}, expected a whole number from 1")
    return value


def at_a_time(jobs: object) -> int:
    """Return how many runs are made at a time: `jobs`, or as many as this process may use processors."""
    if jobs is not None:
        return at_least_one("jobs", jobs)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    """Return `value` if it is one of `known`. Raises `UserError`."""
    if value in known:
        return value
    raise UserError(f"{name}: found `{value}`, expected {', '.join(known[:-1])} or {known[-1]}{nearest(value, known)}")


def nearest(value: str, known: tuple[str, ...]) -> str:
    """Return the end of a message that names the nearest of `known`, if one is near."""
    import difflib

    near = difflib.get_close_matches(value, known, 1)
    return f"; did you mean `{near[0]}`?" if near else ""


def set_lines(changes: Mapping[str, object]) -> list[str]:
    """Return changes of system keys as ``key=value``, as `--set` takes them. Raises `UserError`."""
    _check_changes(changes)
    return [f"{key}={_toml(value)}" for key, value in changes.items()]


def _check_changes(changes: object) -> None:
    if not isinstance(changes, Mapping):
        raise UserError(f'set: found a {type(changes).__name__}, expected a dict such as {{"flash.read": "80us"}}')


def _toml(value: object) -> str:
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "ndim", None) == 0:
        value = item()  # a number of NumPy's
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
