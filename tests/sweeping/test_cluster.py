"""Sweeps on Dask: the rows do not depend on the fate of a worker."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

import nandram
from nandram.sweep import cluster
from sweeping.test_sweep import same

distributed = pytest.importorskip("distributed")


@pytest.fixture
def workers(tmp_path: Path) -> Any:
    with distributed.LocalCluster(
        n_workers=3,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        local_directory=str(tmp_path / "dask"),
        silence_logs=60,
    ) as local:
        yield local


def test_the_same_rows_while_a_worker_is_killed(workers: Any, declared: Path, tmp_path: Path) -> None:
    here = nandram.run_sweep(declared, tmp_path / "here")
    killed: list[int] = []

    def told(done: int, of: int, _fraction: float) -> None:
        if not killed and of // 3 < done < of:
            pid = next(iter(workers.workers.values())).pid
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    there = nandram.run_sweep(declared, tmp_path / "there", dask=workers.scheduler_address, report=told)
    assert len(killed) == 1
    assert there.done == 80
    assert same(here, there)


def test_a_worker_s_mistake_is_ours(workers: Any, declared: Path, tmp_path: Path) -> None:
    declared.write_text(declared.read_text().replace("bs=4k", "bs=4q"))
    with pytest.raises(nandram.UserError, match="4q"):
        nandram.run_sweep(declared, tmp_path / "out", dask=workers.scheduler_address)


def test_a_scheduler_that_is_not_there(declared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(nandram.UserError, match="found `nowhere`, expected slurm, pbs or a scheduler that answers"):
        nandram.run_sweep(declared, tmp_path / "out", dask="nowhere")


@pytest.mark.parametrize(("queue", "directive"), [("slurm", "#SBATCH"), ("pbs", "#PBS")])
def test_what_a_queue_is_asked(queue: str, directive: str) -> None:
    dask = pytest.importorskip("dask")
    pytest.importorskip("dask_jobqueue")
    with dask.config.set({f"jobqueue.{queue}.cores": 4, f"jobqueue.{queue}.memory": "8GB"}):
        found = cluster.cluster_of(queue)
        assert directive in found.job_script()
        found.close()
