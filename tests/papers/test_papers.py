"""The verdicts of the papers; a changed verdict fails here, and must be explained in CHANGELOG.md."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import nandram
from nandram.cli import main
from nandram.papers import library

TOP = Path(__file__).parents[2]


@pytest.mark.parametrize("paper", [paper for paper in library.papers() if library.load(paper).experiment is not None])
def test_verdicts(paper: str, snapshot: SnapshotAssertion, runs: Path) -> None:
    found = nandram.reproduce(paper, quick=True)
    shown = {row.id: [row.verdict, None if row.ours is None else float(f"{row.ours:.4g}")] for row in found}
    assert shown == snapshot


PERTURBED = [
    ("ddrssd", "[runs.write]", "flash.program", "300us", "*.write*"),
    ("drambus", "[runs.reads]", "flash.rate", "200MT/s", "*.throughput.read*"),
    ("ssd_crosscheck", "[runs.ideal_map]", "flash.read", "60us", "*.ideal_map"),
    ("hmb", "[runs.sections]", "device.hmb.use", "read-cache", "*.off_is_slow"),
    ("xip", "[runs.policies]", "link.rate", "40MT/s", "*.table5.djpeg.4.*_fixed"),
    ("nvmm", "[runs.mmap_ssd]", "flash.rate", "200MT/s", "*.ssd_access.mlc.*"),
]
"""A given value of the paper's system, a changed value, and the claims that depend on it."""


@pytest.mark.parametrize(("paper", "run", "key", "value", "claims"), PERTURBED, ids=[each[0] for each in PERTURBED])
def test_a_given_parameter_moves_the_claims_that_rest_on_it(
    paper: str, run: str, key: str, value: str, claims: str, tmp_path: Path, runs: Path
) -> None:
    text = (TOP / "experiments" / f"{paper}.toml").read_text()
    assert run in text
    file = tmp_path / f"{paper}.toml"
    change = f'"{key}" = "{value}"'
    before_it, behind = text.split(f"{run}\n")
    if "set = { " in behind.partition("[runs.")[0]:
        behind = behind.replace("set = { ", f"set = {{ {change}, ", 1)
    else:
        behind = f"set = {{ {change} }}\n{behind}"
    file.write_text(f"{before_it}{run}\n{behind}")
    before = nandram.reproduce(paper, quick=True, claims=claims)
    after = nandram.reproduce(str(file), quick=True, claims=claims)
    systems = {manifest["system"]: manifest for manifest in before.manifests[paper]}
    assert any("given" in manifest["settings"].get(key, {}).get("basis", {}) for manifest in systems.values())
    for row in before:
        ours = after[row.id].ours
        assert row.ours is not None
        assert ours is not None
        assert abs(ours / row.ours - 1) > 0.005


def test_the_guide_shows_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    guide = (TOP / "docs" / "papers.md").read_text().split("$ nandram reproduce ddrssd\n", 1)[1].split("\n\n", 1)[0]
    with pytest.raises(SystemExit):
        main(["reproduce", "ddrssd", "--quick"])
    printed = capsys.readouterr().out
    # Omissions are shown as dots; the line that counts is that of full-length runs.
    rows = [line.strip() for line in guide.splitlines() if " claims, of which " not in line]
    assert len(rows) > 6
    for row in rows:
        assert row.removesuffix("...").strip() in printed
