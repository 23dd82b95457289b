"""The mutants of Rust sources: the places that they change, the changed code, and the draw by a seed."""

import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from rust_mutants.reasons import FILE, read_reasons, stale
from rust_mutants.rewrite import rewrite
from rust_mutants.sites import ROOT, Mutant, build_lister, draw, list_mutants, sources

SOURCE = """\
const LIMIT: u32 = 4;
static TABLE: [u32; 2] = [1, 2];

pub fn first(a: u32, b: u32) -> u32 {
    if a < b && b > 7 {
        return 1;
    }
    if let Some(c) = a.checked_sub(b) && c >= LIMIT {
        return c;
    }
    assert!(a <= 100);
    match a {
        3 => b,
        _ => 0,
    }
}

fn second(table: &[u32], at: usize) -> Vec<u32> {
    let mut all = Vec::with_capacity(2);
    all.push(table[at % 2]);
    all
}

const fn fixed(a: u32) -> bool {
    a == 5
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_test() {
        assert!(super::first(1, 2) != 3 || false);
        if 1 == 2 {
            return;
        }
    }
}
"""
MAIN = """
fn hook(number: u32) -> bool {
    std::env::args().nth(1).is_some_and(|chosen| chosen == number.to_string())
}

fn main() {
    let all = [(1, 8), (8, 8), (1, 7), (9, 5), (8, 5), (3, 3), (2, 2)];
    println!("{:?}", all.map(|(a, b)| first(a, b)));
}
"""


@pytest.fixture(scope="module")
def lister() -> Path:
    return build_lister()


@pytest.fixture
def listed(lister: Path, tmp_path: Path) -> Callable[[str], list[Mutant]]:
    def of(source: str) -> list[Mutant]:
        (tmp_path / "a.rs").write_text(source)
        return list_mutants(lister, tmp_path, ["a.rs"])

    return of


def test_mutants_are_of_code_that_runs(listed: Callable[[str], list[Mutant]]) -> None:
    found = [(mutant.line, mutant.kind, mutant.change) for mutant in listed(SOURCE)]
    assert found == [
        (5, "return", "condition negated"),
        (5, "return", "condition false"),
        (5, "logic", "if a < b || b > 7 {"),
        (5, "comparison", "if a <= b && b > 7 {"),
        (5, "comparison", "if a >= b && b > 7 {"),
        (5, "comparison", "if a < b && b >= 7 {"),
        (5, "comparison", "if a < b && b <= 7 {"),
        (5, "constant", "if a < b && b > 8 {"),
        (5, "constant", "if a < b && b > 6 {"),
        (6, "constant", "return 2;"),
        (6, "constant", "return 0;"),
        (8, "return", "condition false"),
        (8, "comparison", "if let Some(c) = a.checked_sub(b) && c > LIMIT {"),
        (8, "comparison", "if let Some(c) = a.checked_sub(b) && c < LIMIT {"),
        (8, "constant", "if let Some(c) = a.checked_sub(b) && c >= (LIMIT + 1) {"),
        (8, "constant", "if let Some(c) = a.checked_sub(b) && c >= (LIMIT - 1) {"),
        (14, "constant", "_ => 1,"),
        (20, "constant", "all.push(table[at % 1]);"),
    ]
    assert {mutant.function for mutant in listed(SOURCE)} == {"first", "second"}


def test_a_chosen_mutant_changes_its_expression_alone(listed: Callable[[str], list[Mutant]], tmp_path: Path) -> None:
    mutants = [mutant for mutant in listed(SOURCE) if mutant.function == "first"]
    program = rewrite(SOURCE.encode(), dict(enumerate(mutants)), "hook") + MAIN
    (tmp_path / "main.rs").write_text(program)
    command = ["rustc", "--edition", "2024", "-Awarnings", "main.rs"]
    subprocess.run(command, check=True, cwd=tmp_path)

    def first(changed: dict[str, str], a: int, b: int) -> int:
        """Evaluate the function in Python, with what one mutant changes."""
        parts = {"early": "a < b and b > 7", "one": "1", "late": "c >= 0 and c >= 4", "zero": "0"} | changed
        names = {"a": a, "b": b, "c": a - b}
        if eval(parts["early"], names):
            return int(parts["one"])
        if eval(parts["late"], names):
            return a - b
        return b if a == 3 else int(parts["zero"])

    wanted = [
        {"early": "not (a < b and b > 7)"},
        {"early": "False"},
        {"early": "a < b or b > 7"},
        {"early": "a <= b and b > 7"},
        {"early": "a >= b and b > 7"},
        {"early": "a < b and b >= 7"},
        {"early": "a < b and b <= 7"},
        {"early": "a < b and b > 8"},
        {"early": "a < b and b > 6"},
        {"one": "2"},
        {"one": "0"},
        {"late": "False"},
        {"late": "c >= 0 and c > 4"},
        {"late": "c >= 0 and c < 4"},
        {"late": "c >= 0 and c >= 5"},
        {"late": "c >= 0 and c >= 3"},
        {"zero": "1"},
        {},  # no mutant has this number
    ]
    pairs = [(1, 8), (8, 8), (1, 7), (9, 5), (8, 5), (3, 3), (2, 2)]
    results = [[first(changed, a, b) for a, b in pairs] for changed in wanted]
    for number, result in enumerate(results):
        run = subprocess.run([tmp_path / "main", str(number)], check=True, capture_output=True, text=True)
        assert run.stdout.strip() == str(result), wanted[number]
    assert all(result != results[-1] for result in results[:-1])


def test_without_mutants_a_source_stays_as_is() -> None:
    assert rewrite(SOURCE.encode(), {}, "hook") == SOURCE


def test_a_seed_draws_the_same_mutants(listed: Callable[[str], list[Mutant]]) -> None:
    mutants = listed(SOURCE)
    drawn = draw(mutants, 6, 1, "folder")
    assert drawn == draw(mutants, 6, 1, "folder")
    assert len({mutant.key for mutant in drawn}) == 6
    assert any(draw(mutants, 6, seed, "folder") != drawn for seed in range(2, 5))
    assert draw(mutants, 100, 1, "folder") == mutants


def test_a_draw_survives_new_tests_and_comments(listed: Callable[[str], list[Mutant]]) -> None:
    keys = [mutant.key for mutant in draw(listed(SOURCE), 6, 1, "folder")]
    later = "//! A comment.\n" + SOURCE.replace("fn a_test() {", "fn a_test() {\n        assert!(1 < 2);")
    assert [mutant.key for mutant in draw(listed(later), 6, 1, "folder")] == keys


def test_a_changed_place_replaces_few_drawn_mutants(listed: Callable[[str], list[Mutant]]) -> None:
    keys = {mutant.key for mutant in draw(listed(SOURCE), 9, 1, "folder")}
    later = {mutant.key for mutant in draw(listed(SOURCE.replace("return 1;", "return 5;")), 9, 1, "folder")}
    assert len(keys & later) >= 7


def test_a_reason_names_a_mutant(listed: Callable[[str], list[Mutant]]) -> None:
    text = """
    [[reason]]
    file = "a.rs"
    function = "first"
    place = "_ => 0,"
    change = "_ => {new},"
    reason = "Nothing reads it."
    """
    mutants = listed(SOURCE)
    assert stale(read_reasons(text.replace("{new}", "1")), mutants) == []
    assert stale(read_reasons(text.replace("{new}", "2")), mutants) == [("a.rs", "first", "_ => 0,", "_ => 2,")]
    with pytest.raises(ValueError, match="without a reason"):
        read_reasons(text.replace("Nothing reads it.", " "))


def test_reasons_are_of_mutants_that_exist(lister: Path) -> None:
    folders = tomllib.loads((FILE.parent / "folders.toml").read_text()).keys() - {"env"}
    mutants = [mutant for name in folders for mutant in list_mutants(lister, ROOT, sources(ROOT, name))]
    reasons = read_reasons(FILE.read_text())
    assert reasons
    assert stale(reasons, mutants) == []
