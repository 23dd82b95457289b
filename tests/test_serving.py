"""A served language model from the command line, in Python, in reports and in sweeps."""

from pathlib import Path

import pytest

import nandram
from nandram.check import check_file
from nandram.errors import UserError

CHAT = """
kind = "kvcache"
[model]
parameters = 100_000_000
layers = 8
heads = 8
kv_heads = 8
head_dim = 64
[gpu]
flops = "10TFLOP/s"
bandwidth = "200GB/s"
memory = "1GB"
power = "100W"
pool = "96MiB"
[tiers]
host = "32MiB"
link = "16GB/s"
[drive]
request = "256KiB"
sample = 4
[load]
rate = "{rate}/s"
duration = "4s"
warm_up = "1s"
turns = 4
think = "500ms"
context_max = 2048
prompt = {{ tokens = 150, distribution = "lognormal", deviation = 0.6 }}
output = {{ tokens = 40, distribution = "exponential" }}
[basis]
"tiers.link" = {{ assumed = "a narrow link" }}
"""
SMALL = {
    "flash.blocks": 40,
    "flash.pages": 48,
    "ftl.capacity": "auto",
    "ftl.slc_cache.size": "0B",
    "ftl.over_provisioning": 0.3,
    "ftl.gc.start": 4,
    "flash.endurance.mean": 3000,
}


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    path = tmp_path / "chat.toml"
    path.write_text(CHAT.format(rate=8))
    return path


def test_prompts_that_are_cut_to_the_longest_sequence_are_counted(chat: Path) -> None:
    chat.write_text(CHAT.format(rate=8).replace("context_max = 2048", "context_max = 256"))
    notes = nandram.run("nvme-client-tlc", chat, set=SMALL, precondition="steady", cache=None).notes
    note = next(note for note in notes if "load.context_max" in note)
    assert note.endswith("requests were longer than load.context_max (256 tokens) and were cut to it")
    assert 0 < int(note.split()[0]) < int(note.split()[2])


def test_a_run_has_times_tokens_hits_wear_and_energy(chat: Path, tmp_path: Path) -> None:
    result = nandram.run("nvme-client-tlc", chat, set=SMALL, precondition="steady", cache=None, output=tmp_path / "out")
    serving = result.serving
    assert serving is not None
    assert 0 < serving["ttft_ms"]["p50"] <= serving["ttft_ms"]["p95"] <= serving["ttft_ms"]["max"]
    assert serving["tokens"] == pytest.approx(serving["tokens_per_s"] * 3)
    assert serving["hits"]["drive"] > 0
    assert serving["tiers"]["drive"]["lifetime_years"] > 0
    assert serving["basis"]["tiers.link"] == {"assumed": "a narrow link"}
    assert [row[0] for row in result.rows()][:2] == ["fetch", "offload"]
    assert any("drive writes per day" in note for note in result.notes)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Time to first token: cumulative distribution" in page
    assert "a narrow link" in page
    assert nandram.read_result(tmp_path / "out").serving == serving


def test_other_runs_have_no_serving_section(tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text("[a]\nrw=randread\nbs=4k\nnumber_ios=100\n")
    assert nandram.run("nvme-client-tlc", job, cache=None).serving is None


def test_a_mistake_is_one_line(chat: Path) -> None:
    chat.write_text(chat.read_text().replace("turns", "turn"))
    with pytest.raises(UserError, match=r"chat.toml:\d+: load.turn: found an unknown key, the nearest is `load.turns`"):
        nandram.run("nvme-client-tlc", chat, cache=None)


def test_options_of_jobs_are_refused(chat: Path) -> None:
    with pytest.raises(UserError, match="found a served model with `warm_up`"):
        nandram.run("nvme-client-tlc", chat, warm_up="1s", cache=None)


def test_a_sweep_over_load_names_its_columns(tmp_path: Path) -> None:
    sets = ", ".join(f'"{key}" = {value!r}'.replace("'", '"') for key, value in SMALL.items())
    job = CHAT.format(rate="{rate}")
    (tmp_path / "load.toml").write_text(
        f"system = \"nvme-client-tlc\"\nset = {{ {sets} }}\nprecondition = \"fill\"\njob = '''{job}'''\n"
        '[space]\nkind = "grid"\n[space.axes]\nrate = [4, 12]\n[objectives]\nttft_p95_ms = "minimize"\n'
    )
    frame = nandram.run_sweep(tmp_path / "load.toml", tmp_path / "load").frame()
    assert frame["tokens_per_s"][1] > frame["tokens_per_s"][0] > 0
    assert frame["hits_drive"].null_count() == 0


def test_examples_are_valid() -> None:
    folder = Path(__file__).parent.parent / "examples" / "kvcache"
    for path in sorted(folder.glob("*.toml")):
        assert check_file(str(path)) in ("system", "served language model", "sweep, 10 runs")


@pytest.mark.parametrize(
    ("system", "kind", "needs"),
    [
        ("hbf", "kvcache", "runs on a drive, and the system is main memory"),
        ("nvme-client-tlc", "gups", "runs on main memory, and the system is a drive"),
    ],
)
def test_a_kind_on_the_wrong_machine_is_named(tmp_path: Path, system: str, kind: str, needs: str) -> None:
    path = tmp_path / "load.toml"
    path.write_text(f'kind = "{kind}"\n')
    with pytest.raises(UserError) as found:
        nandram.run(nandram.load_system(system), path)
    assert str(found.value) == f'{path}: kind: found "{kind}", which {needs}'
