"""A test paper about a drive of a few megabytes, and a folder for the runs of bundled papers."""

import os
import shutil
from pathlib import Path

import pytest

from conftest import TINY

CLAIMS = """
title = "On tiny drives"

[given]
dies = 4

[[claim]]
id = "tiny.read_us"
value = 60
unit = "us"
kind = "number"
where = "Table 1"
when = "4 KiB random reads, one at a time"

[[claim]]
id = "tiny.gain"
value = 3.0
unit = "x"
kind = "ratio"
where = "Figure 1"
when = "eight outstanding over one"
note = "read off nothing"

[[claim]]
id = "tiny.gain.range"
value = [2, 4]
unit = "x"
kind = "range"
where = "Figure 1"
when = "the same"

[[claim]]
id = "tiny.busy"
value = 1.0
unit = "fraction"
kind = "bound"
where = "1"
when = "channels, eight outstanding: at most this"

[[claim]]
id = "tiny.depth.monotone"
value = 1
unit = "holds"
kind = "shape"
where = "Figure 1"
when = "more outstanding, more reads"

[[claim]]
id = "tiny.depth.knee"
value = 2
unit = "requests"
kind = "shape"
where = "Figure 1"
when = "no gain from more than this"

[[claim]]
id = "tiny.read.fitted"
value = 70
unit = "us"
kind = "number"
where = "Table 2"
when = "what flash.read was set by"

[[claim]]
id = "tiny.lifetime"
value = 5
unit = "years"
kind = "number"
where = "2"
when = "by extrapolation"

[[claim]]
id = "tiny.noise"
value = 3
unit = "dB"
kind = "number"
where = "3"
when = "in a quiet room"
"""

EXPERIMENT = '''
paper = "claims/tiny.toml"

[constants]
requests = 400
kib = 4

[basis]
requests = { assumed = "enough for a mean" }
kib = { given = "Table 1" }

[quick]
requests = 100

[measures]
channel_busy = 'nandram.busy["flash channel 0"]'

[runs.reads]
system = "drive.toml"
set = { "flash.program" = "600us", "flash.cache_read" = false, "flash.ecc" = { codeword = "2KiB" } }
grid = { depth = [1, 2, 8] }
precondition = "fill"
job = """
[reads]
rw=randread
bs={kib}k
iodepth={depth}
number_ios={requests}
"""

[runs.traced]
system = "drive.toml"
replay = "closed:1"
[runs.traced.generate]
kind = "mix"
requests = 100
request_bytes = 4096
span_bytes = 4194304
writes = 0.25
read_misses = 0.8
seed = 7

[robustness.fixed]
"ftl.gc.start" = "a drive this small has no room for less"

[counters.one_die]
why = "a drive of one die: eight outstanding gain next to nothing"
set = { "flash.dies" = 1, "flash.channels" = 1, "flash.chips" = 1 }

[values]
one = "reads(depth=1)"
gain = "reads.read_iops / one.read_iops"

[tests]
number = { within = 0.10, set_by = "the editor" }
ratio = { within = 0.25, set_by = "the editor" }

[claims]
"tiny.read_us" = "one.read_us"
"tiny.gain" = { ours = "gain(depth=8)", counter = "one_die", note = "the drive has four dies" }
"tiny.gain.range" = { ours = "gain(depth=8)", counter = ["one_die"] }
"tiny.busy" = { ours = "reads.channel_busy(depth=8)", holds = "ours <= paper", set_by = "arithmetic" }
"tiny.depth.monotone" = "rising(reads.read_iops)"
"tiny.depth.knee" = "knee(reads.read_iops)"
"tiny.read.fitted" = "one.read_us"
"tiny.lifetime" = { ours = "traced.mean_us / 1000", not_comparable = "wear is not modeled beyond a run" }
'''

BASIS = """
[basis]
"flash.read" = { calibrated = "tiny.read.fitted: the array's part of it" }
"flash.channels" = { given = "Table 0" }
"flash.dies" = { assumed = "two are usual" }
"""


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the experiment file, in the working folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(TINY, "drive.toml")
    with Path("drive.toml").open("a") as file:
        file.write(BASIS)
    Path("claims").mkdir()
    Path("claims/tiny.toml").write_text(CLAIMS)
    Path("tiny.toml").write_text(EXPERIMENT)
    return Path("tiny.toml")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep the runs of bundled papers in a folder for all processes that test, so that none is made twice."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "papers"
    monkeypatch.setenv("NANDRAM_CACHE", str(folder))
    return folder
