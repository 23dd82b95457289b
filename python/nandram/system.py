"""Systems: presets and files, with changes."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nandram.options import set_lines


@dataclass(frozen=True)
class System:
    """A machine, read and checked: a preset or a file, with changes."""

    source: str
    """The preset's name or the file's path."""
    changes: tuple[str, ...] = ()
    """``key=value``, in order."""

    @cached_property
    def toml(self) -> str:
        """The resolved file: every default, and the basis of every value."""
        from nandram import _core

        return _core.check(self.source, list(self.changes))

    @property
    def changed_toml(self) -> str:
        """What the file itself and the changes give, without defaults and values of the files that it extends."""
        from nandram import _core

        return _core.check(self.source, list(self.changes), changed=True)

    @cached_property
    def values(self) -> dict[str, Any]:
        """The resolved file as dictionaries."""
        import tomllib

        return tomllib.loads(self.toml)

    def with_(self, changes: Mapping[str, object]) -> "System":
        """Return this system with further changes. Raises `UserError`."""
        return _checked(System(self.source, (*self.changes, *set_lines(changes))))

    def __repr__(self) -> str:
        changed = f" with {', '.join(self.changes)}" if self.changes else ""
        return f"<System {self.source}{changed}>"


def load(
    system: str | os.PathLike[str],
    set: Mapping[str, object] | None = None,  # noqa: A002
    *,
    scale: str | None = None,
) -> System:
    """Read a system: a preset's name or a file's path.

    `set` changes keys, as ``--set`` does: ``{"link.lanes": 2, "device.hmb.size": "64MiB"}``. `scale`, such as
    ``"1/64"``, makes it a smaller copy: blocks, capacity and caches together. Raises `UserError` if there is no such
    system, or a mistake in it.
    """
    scaled = [] if scale is None else set_lines({"scale": scale})
    return _checked(System(os.fspath(system), (*set_lines(set or {}), *scaled)))


def _checked(system: System) -> System:
    """Read the system now, so that a mistake is told where it was made."""
    assert system.toml is not None
    return system


def systems() -> dict[str, str]:
    """Return the presets: their names, with a line on each."""
    from nandram import _core

    return dict(_core.systems())
