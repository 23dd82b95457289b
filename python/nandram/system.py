"""Systems: presets and system files, with changes."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nandram.options import set_lines


@dataclass(frozen=True)
class System:
    """A checked machine description: a preset or a file, with changes."""

    source: str
    """The preset's name or the file's path."""
    changes: tuple[str, ...] = ()
    """Changes in order, each ``key=value``."""

    @cached_property
    def toml(self) -> str:
        """The resolved file, with every default and the basis of every value."""
        from nandram import _core

        return _core.check(self.source, list(self.changes))

    @property
    def changed_toml(self) -> str:
        """The values from the file itself and the changes, without defaults and values of the files that it extends."""
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


def load_system(
    system: str | os.PathLike[str],
    set: Mapping[str, object] | None = None,  # noqa: A002
    *,
    scale: str | None = None,
) -> System:
    """Read a system by a preset's name or a file's path.

    `set` changes keys like ``--set``: ``{"link.lanes": 2, "device.hmb.size": "64MiB"}``. `scale`, such as ``"1/64"``,
    gives a smaller copy with fewer blocks and smaller capacity and caches. Raises `UserError` if the system does not
    exist or has a mistake.
    """
    scaled = [] if scale is None else set_lines({"scale": scale})
    return _checked(System(os.fspath(system), (*set_lines(set or {}), *scaled)))


def _checked(system: System) -> System:
    """Read the system immediately, so that a mistake is reported where it was made."""
    assert system.toml is not None
    return system


def systems() -> dict[str, str]:
    """Return the presets: titles by name."""
    from nandram import _core

    return dict(_core.systems())
