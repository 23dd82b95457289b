"""A hook of mkdocs: replaces the marker of a page by the table of trace formats."""

from typing import Any

MARKER = "<!-- trace formats -->"


def table() -> str:
    """Return the table of all trace formats in Markdown."""
    from nandram import _core

    rows = [
        f"| {title} | `{layout}` | {', '.join(f'`.{each}`' for each in extensions)} | `{name}` |"
        for name, title, layout, extensions in _core.trace_formats()
    ]
    head = ["| format | one request | extensions | name in results |", "| --- | --- | --- | --- |"]
    return "\n".join(head + rows)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the page with the table in place of its marker."""
    return markdown.replace(MARKER, table()) if MARKER in markdown else markdown
