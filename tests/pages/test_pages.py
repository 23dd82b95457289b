"""The commands of README, docs and examples print what these pages show.

`UPDATE_PAGES=1` puts what they print into the pages, except where a page leaves something out (`...`).
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pages.blocks import Command, Page, parse, read_page
from pages.shell import ROOT, environment, mend, run_page
from pages.tables import TABLES
from pages.written import BEYOND, Written, written

TRACKED = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
PAGES = [
    path
    for path in map(Path, TRACKED.stdout.split())
    if path.name == "README.md" or path.parts[0] == "docs" or len(path.parts) == 1
]
STEPS = {path: read_page(ROOT / path) for path in PAGES}
SLOW_MAX = 10


def pages(mark: str) -> list[Path]:
    """Return the pages that have a block with a mark."""
    return [path for path, page in STEPS.items() if any(step.mark == mark for step in page.commands + page.tables)]


def check(path: Path, folder: Path, *marks: str) -> None:
    """Fail if a block of a page with one of the marks shows something else than its command prints."""
    if shutil.which("jq") is None and "jq" in (ROOT / path).read_text():
        pytest.skip("there is no jq")
    wrong = run_page(STEPS[path], folder, marks)
    if os.environ.get("UPDATE_PAGES"):
        mend(ROOT / path, wrong)
    assert not wrong, "\n".join(f"{path}, {each.text}" for each in wrong)


@pytest.mark.parametrize("path", pages(""), ids=str)
def test_commands_print_what_the_page_shows(path: Path, tmp_path: Path) -> None:
    check(path, tmp_path, "")


@pytest.mark.docs
@pytest.mark.parametrize("path", pages("slow"), ids=str)
def test_slow_commands_print_what_the_page_shows(path: Path, tmp_path: Path) -> None:
    check(path, tmp_path, "", "slow")


@pytest.mark.system
@pytest.mark.parametrize("path", pages("system"), ids=str)
def test_commands_that_need_other_programs_print_what_the_page_shows(path: Path, tmp_path: Path) -> None:
    check(path, tmp_path, "", "system")


@pytest.mark.docs
@pytest.mark.parametrize("target", written(), ids=lambda each: each.target)
def test_pages_are_what_their_target_writes(target: Written, tmp_path: Path) -> None:
    command = ["bash", "-c", target.command]
    done = subprocess.run(command, cwd=ROOT, env=environment(tmp_path), stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.splitlines() == (ROOT / target.page).read_text().splitlines()


def test_at_most_ten_blocks_are_slow() -> None:
    slow = {f"{path}:{step.block}" for path in PAGES for step in STEPS[path].commands if step.mark == "slow"}
    slow |= {f"{path}:{step.line}" for path in PAGES for step in STEPS[path].tables if step.mark == "slow"}
    slow |= {each.page for each in written()}
    assert 0 < len(slow) <= SLOW_MAX, slow


def test_every_target_that_writes_a_page_is_run_or_says_why_not() -> None:
    text = (ROOT / "Makefile").read_text()
    for each in written():
        assert f"make {each.target}" in (ROOT / each.page).read_text()
    assert [name for name in BEYOND if f"\n{name}:" not in text] == []


def test_every_table_is_on_a_page() -> None:
    assert sorted(table.name for page in STEPS.values() for table in page.tables) == sorted(TABLES)


BLOCK = """
`job.fio`:

    [a]
    rw=randread
    bs=4k
    number_ios=100

    $ nandram run {system} job.fio --precondition fill
    {shown}
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return what the command of `BLOCK` prints."""
    folder = tmp_path_factory.mktemp("shown")
    return run_page(page_of(["nothing"]), folder, ("",))[0].printed


def page_of(shown: list[str]) -> Page:
    text = BLOCK.format(system=ROOT / "tests" / "data" / "tiny.toml", shown="\n    ".join(shown))
    return parse(text.splitlines())


def test_a_block_that_shows_what_is_printed_passes(shown: list[str], tmp_path: Path) -> None:
    assert len(shown) > 3
    assert run_page(page_of(shown), tmp_path, ("",)) == []


@pytest.mark.parametrize("row", [0, 2, -1])
def test_a_block_that_was_changed_by_hand_fails(shown: list[str], row: int, tmp_path: Path) -> None:
    digits = [at for at, character in enumerate(shown[row]) if character.isdigit()]
    at = digits[-1]
    other = str((int(shown[row][at]) + 1) % 10)
    changed = shown[:]
    changed[row] = shown[row][:at] + other + shown[row][at + 1 :]
    wrong = run_page(page_of(changed), tmp_path, ("",))
    assert [f"+{shown[row]}" in each.text for each in wrong] == [True]


def test_a_line_more_or_less_fails(shown: list[str], tmp_path: Path) -> None:
    for index, changed in enumerate(([*shown, "a line"], shown[:-1], shown[1:])):
        folder = tmp_path / str(index)
        folder.mkdir()
        assert run_page(page_of(changed), folder, ("",)), changed


def test_what_is_left_out_matches_anything(shown: list[str], tmp_path: Path) -> None:
    assert run_page(page_of([shown[0], "...", shown[-1]]), tmp_path, ("",)) == []


def test_an_error_that_is_not_shown_fails(tmp_path: Path) -> None:
    wrong = run_page(parse(["    $ nandram run no-system no-job"]), tmp_path, ("",))
    assert "exit status 2" in wrong[0].text


def test_changed_rows_of_a_table_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ["| a |", "| --- |", "| 1.5 |"]
    monkeypatch.setitem(TABLES, "gups", lambda: rows)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert run_page(parse(["<!-- table gups -->", *rows]), tmp_path / "a", ("",)) == []
    changed = parse(["<!-- table gups -->", *rows[:-1], "| 1.6 |"])
    assert "+| 1.5 |" in run_page(changed, tmp_path / "b", ("",))[0].text


def test_commands_are_found() -> None:
    commands = [step for page in STEPS.values() for step in page.steps if isinstance(step, Command)]
    assert len(commands) >= 45
