"""Bundled traces: their names and manifests, and those generated to meet the XIP paper's figures."""

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


@pytest.mark.parametrize(("folder", "traces"), [("xip", 56), ("xip-mibench", 16), ("xip-fitted", 4)])
def test_a_manifest_lists_the_traces_of_its_folder(folder: str, traces: int) -> None:
    found = [path_of(name) for name in bundled() if name.startswith(f"{folder}/")]
    assert len(found) == traces
    listed = {each["file"]: each for each in tomllib.loads(found[0].with_name("manifest.toml").read_text())["trace"]}
    assert sorted(listed) == sorted(file.name for file in found)
    for file in found:
        assert listed[file.name]["trace_sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_the_traces_of_the_papers_programs_are_as_long_as_their_manifest_states() -> None:
    manifest = path_of("xip-mibench/djpeg-O").with_name("manifest.toml")
    for each in tomllib.loads(manifest.read_text())["trace"]:
        if each["program"] in ("djpeg", "cjpeg"):
            table = run_paging(manifest.with_name(each["file"]), policies=("lru",), sram=["4KiB"], bound_rounds=0).table
            assert table["requests"].to_list() == [each["requests"]]


def test_the_first_million_requests_of_mibenchs_fft_need_few_pages() -> None:
    # The paper: "only 17 pages are actively accessed by the FFT code". Here they fit into 16 KB, and not into 8 KB.
    for level in ("O", "O2", "O3", "Os"):
        trace = path_of(f"xip-mibench/fft-{level}")
        table = run_paging(trace, policies=("lru",), sram=["8KiB", "16KiB"], bound_rounds=0).table
        small, large = table["flash_to_buffer"].to_list()
        assert large < 30 < 30_000 < small, level


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
