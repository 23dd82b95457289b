"""Bundled traces: their names, and those generated to meet the XIP paper's figures (examples/xip/held_out.py)."""

import hashlib
import tomllib
from pathlib import Path

import pytest

import nandram
from nandram.errors import UserError
from nandram.paging.run import run_paging
from nandram.papers import library
from nandram.traces import bundled, path_of

FOLDER = "xip-fitted/"
MANIFEST = path_of(f"{FOLDER}djpeg-arm-O0").with_name("manifest.toml")


def test_the_manifest_lists_the_fitted_traces() -> None:
    listed = {each["file"]: each for each in tomllib.loads(MANIFEST.read_text())["trace"]}
    found = [path_of(name) for name in bundled() if name.startswith(FOLDER)]
    assert sorted(listed) == sorted(file.name for file in found)
    for file in found:
        assert listed[file.name]["trace_sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize(("sram_kib", "within"), [(4, 0.02), (32, 0.35)])
def test_a_fitted_trace_meets_table_4(sram_kib: int, within: float) -> None:
    claims = library.load("xip").claims.claims
    trace: Path = path_of(f"{FOLDER}djpeg-arm-O0")
    table = run_paging(trace, policies=("lru", "min"), sram=[f"{sram_kib}KiB"], bound_rounds=0).table
    assert table["requests"].to_list() == [295081, 295081]
    for policy, loads in zip(table["policy"], table["flash_to_buffer"], strict=True):
        paper = claims[f"xip.table4.{sram_kib}.{policy.upper()}.flash_to_buffer"].value
        assert isinstance(paper, int | float)
        assert abs(loads / paper - 1) < within, policy


def test_run_accepts_the_name_of_a_bundled_trace() -> None:
    by_name = nandram.run("onenand-xip", "xip/djpeg-x86_64-Os")
    by_path = nandram.run("onenand-xip", path_of("xip/djpeg-x86_64-Os"))
    assert by_name.inside["requests"] == by_path.inside["requests"] == 18121
    assert by_name.inside["paging"] == by_path.inside["paging"]
    with pytest.raises(UserError, match="xip/djpeg-x86_64-Ox: No such file"):
        nandram.run("onenand-xip", "xip/djpeg-x86_64-Ox")
