"""Completion of systems, keys and papers in a shell."""

from pathlib import Path

import typer


def systems(incomplete: str) -> list[str]:
    """Return the presets and the system files that begin with `incomplete`."""
    from nandram.system import systems as presets

    files = [f"{path}/" if path.is_dir() else str(path) for path in _below(incomplete)]
    return [
        *(name for name in presets() if name.startswith(incomplete)),
        *(name for name in files if name.endswith(("/", ".toml"))),
    ]


def keys(context: typer.Context, incomplete: str) -> list[str]:
    """Return the keys, each with an equals sign, of the system on the command line that begin with `incomplete`."""
    import json

    from nandram import _core
    from nandram.errors import UserError

    named = [context.params.get(name) for name in ("system", "a", "target")]
    # Without the value that is being completed, the arguments of the command may not be parsed.
    system = next(filter(None, [*named, *context.args]), None)
    if system is None or "=" in incomplete:
        return []
    try:
        found = json.loads(_core.settings(str(system), []))
    except UserError:
        return []
    return [f"{key}=" for key in found if key.startswith(incomplete)]


def papers(incomplete: str) -> list[str]:
    """Return the papers that begin with `incomplete`."""
    from nandram.papers import library

    return [name for name in library.papers() if name.startswith(incomplete)]


def _below(incomplete: str) -> list[Path]:
    """Return the paths that begin with a text."""
    folder = Path(incomplete) if incomplete.endswith("/") else Path(incomplete).parent
    start = "" if incomplete.endswith("/") else Path(incomplete).name
    try:
        return sorted(path for path in folder.iterdir() if path.name.startswith(start))
    except OSError:
        return []
