"""The SQLite bank and its bundled trace."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import zstandard

EXAMPLE = Path(__file__).parent.parent / "examples" / "sqlite_bank"


def test_the_bank_runs_and_its_books_balance(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLE / "bank.py"), str(tmp_path), "--accounts", "300", "--transfers", "40"]
    subprocess.run(command, check=True)
    again = subprocess.run(command, check=False, capture_output=True, text=True)
    assert again.returncode == 1
    assert again.stderr == f"{tmp_path / 'bank.db'}: exists already\n"


def trace() -> list[list[str]]:
    with (EXAMPLE / "sqlite-bank.iolog.zst").open("rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file).read().decode()
    head, *lines = text.splitlines()
    assert head == "fio version 3 iolog"
    return [line.split() for line in lines]


def test_the_trace_is_what_its_readme_says() -> None:
    assert (EXAMPLE / "sqlite-bank.iolog.zst").stat().st_size < 1_000_000
    lines = trace()
    counts = Counter((name, action) for _, name, action, *_ in lines)
    readme = (EXAMPLE / "README.md").read_text()
    for name in ("bank.db", "bank.db-wal", "bank.db-journal"):
        found = (counts[name, action] for action in ("read", "write", "datasync", "trim"))
        assert f"| `{name}` | " + " | ".join(f"{count:,}" for count in found) + " |" in readme
    times = [int(line[0]) for line in lines]
    assert times == sorted(times)


def test_every_commit_is_made_durable_before_the_next() -> None:
    """The log is synced before its pages are checkpointed, and the database before the log is truncated."""
    dirty = {"bank.db": False, "bank.db-wal": False}
    for _, name, action, *_ in trace():
        if action == "write" and name == "bank.db":
            assert not dirty["bank.db-wal"]
        if action == "trim" and name == "bank.db-wal":
            assert not dirty["bank.db"]
        if action == "write":
            dirty[name] = True
        elif action == "datasync":
            dirty[name] = False
