"""Validation of files of any kind."""

from pathlib import Path

from nandram.errors import UserError
from nandram.options import one_of
from nandram.units import count

PAGES, BLOCKS = "pages", "blocks"
_NUMBERS = "block trace, libcachesim-text"
"""How the native module names a text of one number per line, which may also be a list of page numbers."""


def check_file(file: str, kind: str | None = None) -> str:
    """Read a file and the files that it names from end to end; return its kind.

    The kind of a TOML file follows from its tables, that of any other file from its content. A text of one number per
    line is a page trace or a block trace: `kind` decides (``pages`` or ``blocks``), or else ``.pages`` in its name. The
    name of a preset is a system. Raises `UserError` with one line that names the file and the place of the mistake.
    """
    from nandram import _core

    if kind is not None:
        one_of("as", kind, (PAGES, BLOCKS))
    path = Path(file)
    if path.suffix != ".toml":
        if not path.exists() and file in dict(_core.systems()):
            _core.check(file, [])
            return "preset"
        return _check_workload(path, kind)
    return _check_toml(path)


def _check_workload(path: Path, kind: str | None) -> str:
    """Check a job file or a trace. Raises `UserError` for a trace that is not of the given kind."""
    from nandram import _core

    found = _core.check_workload(str(path))
    if found == _NUMBERS:
        kind = kind or (PAGES if ".pages" in path.suffixes else None)
        if kind is None:
            raise UserError(
                f"{path}: found one number per line, which is a page trace or a libCacheSim block trace; "
                "say which with --as pages or --as blocks"
            )
        return _check_page_numbers(path) if kind == PAGES else found
    expected = {PAGES: "page", BLOCKS: "block", None: ""}[kind]
    if not found.startswith(expected):
        raise UserError(f"{path}: found a {found}, expected a {expected} trace")
    return found


def _check_page_numbers(path: Path) -> str:
    """Read a list of page numbers through the reader that `nandram paging` uses. Raises `UserError`."""
    from nandram import _core

    found = _core.paging("onenand-xip", [], str(path), ["fifo"], ["4KiB"], None, 0, None, None)
    return f"page trace, text, {count(found['requests'], 'request')}"


def _check_toml(path: Path) -> str:
    from nandram import _core
    from nandram.language.tables import parse, read_text

    keys = parse(str(path), read_text(path)).values.keys()
    if keys & {"kind", "program"}:
        return _core.check_workload(str(path))
    if "space" in keys:
        from nandram.sweep import declared

        sweep = declared.read(path)
        return f"sweep, {sweep.space.count * len(sweep.seeds)} runs"
    if keys & {"claim", "table"}:
        from nandram.papers import claims

        found = claims.read(str(path), path.stem, read_text(path))
        return f"claims, {len(found.claims)} of them"
    if keys & {"paper", "runs", "claims"}:
        from nandram.papers import library

        library.load(str(path))
        return "experiment"
    _core.check(str(path), [])
    return "system"
