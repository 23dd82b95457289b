"""The documentation lists every trace format that the program reads."""

from pathlib import Path

from nandram import _core

PAGE = Path(__file__).parents[1] / "docs/running.md"


def test_the_page_about_traces_lists_every_format() -> None:
    rows = ["| format | one request | extensions | name in results |", "| --- | --- | --- | --- |"]
    for name, title, layout, extensions in _core.trace_formats():
        row = f"| {title} | `{layout}` | {', '.join(f'`.{each}`' for each in extensions)} | `{name}` |"
        assert row.count("|") == 5
        rows.append(row)
    assert len(rows) >= 13
    table = "\n".join(rows)
    assert f"\n\n{table}\n\n" in PAGE.read_text(), f"{PAGE.name}: expected this table:\n{table}"
