"""A sweep of a drive of a few megabytes."""

from pathlib import Path

import pytest

from conftest import TINY

FILE = f"""
system = "{TINY}"
precondition = "fill"
repeat = 2
job = '''
[reads]
rw=randread
bs=4k
iodepth={{depth}}
number_ios=400
norandommap
'''

[space]
kind = "latin-hypercube"
samples = 40

[space.axes]
depth = [1, 2, 4, 8]
"flash.read" = {{ from = "40us", to = "80us" }}

[measures]
p99_us = 'jobs["reads"].read.clat_ns.percentile["99.000000"] / 1000'

[objectives]
iops = "maximize"
flash_mw = "minimize"
"""


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    """Return the sweep file."""
    path = tmp_path / "reads.toml"
    path.write_text(FILE)
    return path
