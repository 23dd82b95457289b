"""The documentation lists every trace format that the program reads."""

import importlib.util
from pathlib import Path
from types import ModuleType

from nandram import _core

DOCS = Path(__file__).parents[1] / "docs"


def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("trace_formats", DOCS / "trace_formats.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_about_traces_lists_every_format() -> None:
    page = (DOCS / "running.md").read_text()
    module = hook()
    assert page.count(module.MARKER) == 1
    built = module.on_page_markdown(page, page=None, config=None, files=None)
    assert module.MARKER not in built
    formats = _core.trace_formats()
    assert len(formats) >= 11
    for name, title, layout, extensions in formats:
        row = next(line for line in built.splitlines() if line.endswith(f"| `{name}` |"))
        assert row.startswith(f"| {title} | `{layout}` |")
        assert row.count("|") == 5
        assert all(f"`.{each}`" in row for each in extensions)


def test_other_pages_stay_as_they_are() -> None:
    assert hook().on_page_markdown("# Title") == "# Title"
