"""Runs of a sweep on Dask workers, in batches: a worker that dies has its batch made by another."""

from collections.abc import Iterator
from typing import Any

from nandram.errors import UserError
from nandram.hashes import program_hash
from nandram.sweep.work import Row, Work, batch

BATCH_MAX = 32
FAILURES = 5
"""How often a batch may lose its worker before the sweep gives up."""
QUEUES = ("slurm", "pbs")
ANSWER_S = 3.0
"""How long a scheduler has to answer."""


def client_of(where: str, workers: int | None) -> Any:
    """Return a client of a scheduler's address, or of a cluster that asks Slurm or PBS for `workers`.

    The requirements of a queue (project, memory, time) stand in Dask's own configuration, ``jobqueue.yaml``.
    Raises `UserError`.
    """
    try:
        from distributed import Client
    except ImportError:
        raise UserError("dask: distributed is not installed: pip install 'nandram[dask]'") from None
    if where in QUEUES:
        cluster = cluster_of(where)
        cluster.scale(jobs=workers or 1)
        return Client(cluster)
    _expect_answer(where)
    try:
        return Client(where, timeout="20s")
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"dask: found `{where}`, expected slurm, pbs or a scheduler that answers: {error}") from None


def _expect_answer(where: str) -> None:
    """Connect to a scheduler's address before Dask does, which asks again for 20 s. Raises `UserError`."""
    import socket
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(where if "://" in where else f"tcp://{where}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    expected = f"dask: found `{where}`, expected slurm, pbs or a scheduler that answers"
    if host is None or port is None:
        raise UserError(f"{expected}, as tcp://HOST:PORT")
    try:
        socket.create_connection((host, port), timeout=ANSWER_S).close()
    except OSError as error:
        why = error.strerror or str(error)
        raise UserError(f"{expected}: {why}") from None


def cluster_of(queue: str) -> Any:
    """Return a cluster whose workers are jobs of a queue: ``slurm`` or ``pbs``. Raises `UserError`."""
    try:
        from dask_jobqueue.pbs import PBSCluster
        from dask_jobqueue.slurm import SLURMCluster
    except ImportError:
        raise UserError("dask: dask-jobqueue is not installed: pip install 'nandram[dask]'") from None
    kind = {"slurm": SLURMCluster, "pbs": PBSCluster}[queue]
    try:
        return kind()
    except (ValueError, TypeError) as error:
        raise UserError(f"dask: {queue}: {error}") from None


def made(works: list[Work], measures: dict[str, str], client: Any) -> Iterator[Row]:
    """Make the runs on a client's workers; yield each row as its batch ends. Raises `UserError`."""
    from distributed import as_completed

    threads = max(1, sum(client.nthreads().values()))
    size = max(1, min(BATCH_MAX, len(works) // (4 * threads)))
    batches = [works[start : start + size] for start in range(0, len(works), size)]
    # `pure=False`: results that another sweep left on the cluster are not reused.
    futures = [
        client.submit(batch, each, measures, program_hash().hex(), pure=False, retries=FAILURES) for each in batches
    ]
    try:
        for done in as_completed(futures):
            try:
                yield from done.result()
            except UserError:
                raise
            except Exception as error:  # whatever a worker's end is called
                raise UserError(f"dask: a batch could not be made: {type(error).__name__}: {error}") from error
            done.release()
    finally:
        client.cancel(futures)
