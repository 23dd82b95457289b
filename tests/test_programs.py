"""Programs on simulated main memory: results, reports, and mistakes."""

import json
from pathlib import Path

import pytest

import nandram
from nandram.cli import main
from report.pages import Page

GUPS = """kind = "gups"
table = "8MiB"
updates = 1500
threads = 2
create = true
"""
FLASH: dict[str, object] = {
    "flash.channels": 4,
    "flash.chips": 1,
    "flash.dies": 2,
    "flash.pages": 32,
}
"""Eight dies. Caches are smaller than the table, and the DRAM cache is smaller than both."""
CACHES: dict[str, object] = {"cpu.l2.size": "64KiB", "cpu.llc.size": "256KiB"}
SMALL: dict[str, object] = {**CACHES, "memory.channels": 1, "memory.ranks": 1}
SYSTEMS: dict[str, dict[str, object]] = {
    "dram-only": CACHES,
    "dram-ssd": {**SMALL, **FLASH, "memory.size": "4MiB", "flash.planes": 1, "flash.blocks": 1280},
    "nvmm": {**SMALL, **FLASH, "memory.cache.size": "4MiB", "nvmm.capacity": "32MiB", "flash.blocks": 40},
    "cxl-ssd": {**CACHES, "memory.cache.size": "4MiB"},
    "hbf": {**CACHES, "memory.cache.size": "4MiB"},
}


@pytest.fixture
def gups(tmp_path: Path) -> Path:
    path = tmp_path / "gups.toml"
    path.write_text(GUPS)
    return path


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, nandram.Result]:
    path = tmp_path_factory.mktemp("programs") / "gups.toml"
    path.write_text(GUPS)
    return {name: nandram.run(name, path, set=changes, cache=None) for name, changes in SYSTEMS.items()}


def test_a_table_beyond_memory_is_slower_the_slower_what_holds_it(results: dict[str, nandram.Result]) -> None:
    ipc = {name: result.inside["cpu"]["ipc"] for name, result in results.items()}
    assert ipc["dram-only"] > 20 * max(ipc["dram-ssd"], ipc["nvmm"], ipc["cxl-ssd"])
    # 4 us flash compared with 50 us flash.
    assert ipc["dram-only"] > 20 * ipc["hbf"] > 20 * ipc["nvmm"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_a_result_says_fits_together(results: dict[str, nandram.Result], name: str) -> None:
    result = results[name]
    inside, cpu = result.inside, result.inside["cpu"]
    # An update is a load, a store, and sixty instructions in between.
    assert (cpu["loads"], cpu["stores"], cpu["threads"]) == (1500, 1500, 2)
    assert cpu["instructions"] == 1500 * 63
    assert cpu["ipc"] == pytest.approx(cpu["instructions"] / cpu["cycles"])
    assert cpu["cycles"] == pytest.approx(inside["measured_s"] * 2.5e9, rel=1e-6)
    assert inside["simulated_s"] == pytest.approx(inside["warm_up"]["cut_s"] + inside["measured_s"])
    [job] = result.summary["jobs"]
    assert job["jobname"] == "gups"
    # Lines waited for: those outstanding when measuring begins are not counted.
    assert 0 <= job["read"]["total_ios"] - inside["requests"] <= 20
    assert result.latency()["count"].sum() == job["read"]["total_ios"]
    # Two threads with one update at a time each: the total waiting time is bounded by the elapsed time.
    assert job["read"]["total_ios"] * job["read"]["lat_ns"]["mean"] <= 2 * inside["measured_s"] * 1e9
    if "memory_energy_j" in inside:
        assert sum(inside["memory_energy_j"].values()) == pytest.approx(inside["energy_j"]["total"])
    assert any("user instructions a cycle" in note for note in result.notes)


def test_what_is_written_wears_flash_and_says_for_how_long(results: dict[str, nandram.Result]) -> None:
    for name in ("nvmm", "cxl-ssd", "hbf"):
        assert results[name].inside["nvmm"]["programs_host"] > 0
        assert any(note.startswith("DRAM cache") for note in results[name].notes)
    # The endurance of the others is not stated.
    lifetime = results["nvmm"].inside["lifetime_days"]
    assert 0 < lifetime["half"] < lifetime["all"]
    # Caches still fill with modified data, so that no lifetime is shown.
    assert "filling-caches" in {note.kind for note in results["nvmm"].validity}
    assert not any(note.startswith("at this write rate, half of the flash") for note in results["nvmm"].notes)
    assert "lifetime_days" not in results["dram-only"].inside
    assert results["dram-ssd"].inside["linux"]["major_faults"] > 0
    assert results["dram-ssd"].inside["drive"]["energy_j"] > 0
    assert any("drive flash: " in note for note in results["dram-ssd"].notes)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("dram-only", ["memory"]),
        ("dram-ssd", ["memory", "flash of the drive"]),
        ("nvmm", ["cache dram", "table dram", "flash read", "flash program", "flash transfer", "flash standby"]),
    ],
)
def test_a_report_shows_times_and_energy(
    results: dict[str, nandram.Result], name: str, parts: list[str], tmp_path: Path
) -> None:
    results[name].save(tmp_path)
    page = Page((tmp_path / "report.html").read_text())
    assert page.asked == []
    figures = {each["title"].split(":")[0]: each for each in page.figures}
    assert {"Response times", "Percentiles of the response times", "Throughput over time"} <= figures.keys()
    energy = figures["Energy by part"]
    inside = results[name].inside
    total = inside["energy_j"]["total"]
    assert f"{total:.4g} J in all" in energy["title"]
    for part in parts:
        assert f">{part}<" in (tmp_path / "report.html").read_text()


def test_what_a_program_allocates_is_not_read_from_flash(tmp_path: Path) -> None:
    path = tmp_path / "dd.toml"
    # The kernel's own memory would be read, more of it for a larger buffer.
    changes = {**SYSTEMS["nvmm"], "memory.prefetch.type": "none", "kernel.structures": False}

    def read_j(block: str) -> float:
        path.write_text(f'kind = "dd-read"\nfile = "1MiB"\nblock = "{block}"\n')
        inside = nandram.run("nvmm", path, set=changes, cache=None).inside
        energy: float = inside["memory_energy_j"]["flash_read"]
        return energy

    # With a buffer of 4 KiB, and with one as long as the file.
    short, long = read_j("4KiB"), read_j("1MiB")
    assert short > 0
    assert short == pytest.approx(long)


def test_the_same_seed_gives_the_same_bytes_and_another_other_ones(gups: Path) -> None:
    def summary(seed: int) -> str:
        return nandram.run("nvmm", gups, set=SYSTEMS["nvmm"], cache=None, seed=seed).summary_json

    assert summary(1) == summary(1) != summary(2)


def test_several_programs_at_once(tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text(
        '[[program]]\nkind = "gups"\ntable = "4MiB"\nupdates = 300\n[[program]]\nkind = "dd-read"\nfile = "1MiB"\n'
    )
    result = nandram.run("dram-only", path, set=SYSTEMS["dram-only"])
    assert [job["jobname"] for job in result.summary["jobs"]] == ["gups", "dd-read"]
    assert result.inside["cpu"]["threads"] == 2


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_examples_run(name: str, tmp_path: Path) -> None:
    examples = Path(__file__).parents[1] / "examples"
    text = (examples / "gups" / "gups.toml").read_text()
    small = tmp_path / "gups.toml"
    # A thirtieth of the trace.
    small.write_text(text.replace('"64MiB"', '"2MiB"').replace("5000", "200"))
    assert small.read_text() != text
    result = nandram.run(name, small, set=SYSTEMS[name], cache=None)
    assert result.inside["cpu"]["loads"] == 200


MISTAKES = {
    'kind = "gup"': 'gups.toml:1: kind: found "gup", expected one of gups, mix, ',
    'table = "64MiB"': "gups.toml:1: kind: found nothing, expected one of gups, ",
    'kind = "gups"': 'gups.toml:1: table: found nothing, expected a size such as "64MiB", at least 4KiB',
    'kind = "gups"\ntable = 64\nupdates = 1': (
        'gups.toml:2: table: found 64, expected a size such as "64MiB", at least 4KiB'
    ),
    'kind = "gups"\ntable = "64MB"\nupdates = 0': "gups.toml:3: updates: found 0, expected a whole number from 1",
    'kind = "gups"\ntable = "1MiB"\nupdates = 1\nthread = 2': "gups.toml:4: thread: found an unknown key, the",
    'kind = "gups"\ntable = "1MiB"\nupdates = 1\nthreads = 65': "gups.toml:4: threads: found 65, expected a whole",
    'kind = "mix"\ntable = "1MiB"\naccesses = 9\nrandom = 2': "gups.toml:4: random: found 2, expected a number from",
    'kind = "gups"\ntable = "2TiB"\nupdates = 1': "gups.toml: found programs that use 2TiB, expected at most the 1TiB",
    'kind = "trace"\nfile = "nothing.zst"': "nothing.zst: No such file or directory",
    "[[program]": "gups.toml:1: ",
}


@pytest.mark.parametrize("text", MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_one_line(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gups.toml").write_text(text)
    with pytest.raises(SystemExit) as end:
        main(["run", "dram-only", "gups.toml"])
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {MISTAKES[text]}")
    assert said.count("\n") == 1


def test_a_workload_for_another_kind_of_system_is_told(
    gups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = tmp_path / "job.fio"
    job.write_text("[reads]\nrw=randread\nbs=4k\n")
    with pytest.raises(nandram.UserError, match=r"this system takes programs and memory traces$"):
        nandram.run("dram-only", job)
    with pytest.raises(
        nandram.UserError, match=r'kind: found "gups", which runs on main memory, and the system is a drive$'
    ):
        nandram.run("nvme-client-tlc", gups)
    for option in ("--precondition=fill", "--payload=stamp", "--warm-up=1ms", "--replay=closed:1"):
        with pytest.raises(SystemExit):
            main(["run", "dram-only", str(gups), option])
        assert "found programs with `" in capsys.readouterr().err


def test_a_run_can_be_stopped_from_python(gups: Path) -> None:
    gups.write_text(GUPS.replace("1500", "100000000"))
    with pytest.raises(KeyboardInterrupt):
        nandram.run("dram-only", gups, set=SYSTEMS["dram-only"], progress=lambda *_: False)


def test_what_was_saved_is_read_as_it_was(results: dict[str, nandram.Result], tmp_path: Path) -> None:
    results["nvmm"].save(tmp_path)
    read = nandram.read_result(tmp_path)
    assert read.inside == results["nvmm"].inside
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["settings"]["memory.cache.size"]["value"].strip('"') == "4MiB"
