"""Making a sweep."""

import os
from collections.abc import Callable
from pathlib import Path

from nandram.sweeping.result import Sweep, read_sweep

Told = Callable[[int, int, float], None]
"""Called as runs end: how many are done, of how many, and which part of all."""


def sweep(
    file: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    cache: str | os.PathLike[str] | None = "default",
    dask: str | None = None,
    workers: int | None = None,
    report: Told | None = None,
) -> Sweep:
    """Make the runs of a sweep that are not in the folder `output` yet, and return all of it.

    `file`: what is varied and run (`nandram.sweeping.declared`). `jobs`: runs at a time here; as many as the machine
    has processors unless given. `dask`: a scheduler's address, or ``slurm`` or ``pbs`` with so many `workers`: the runs
    are made there; systems and traces must be where the workers see them. `cache`: the folder of prepared drives; by
    default none is kept where configurations have drives of their own, else as of `nandram.run`.

    Results are kept as each run ends, by a hash of the program and of all that shapes the run: a sweep that was
    interrupted or killed goes on where it was, and one whose file was changed keeps what is still asked for.

    Raises `UserError` for a mistake in any of these.
    """
    from nandram.options import at_a_time, default_cache
    from nandram.sweeping import cluster, declared, local
    from nandram.sweeping.store import Store

    processes = at_a_time(jobs)
    asked = declared.read(Path(file))
    kept: str | None = None if cache is None else os.fspath(cache)
    if cache == "default":
        kept = None if asked.varies_the_system() else default_cache()
    works = asked.works(kept)
    client = None if dask is None else cluster.client_of(dask, workers)
    store = Store(Path(output), asked, works)
    try:
        left = [work for work in works if work.key not in store.kept]
        # A configuration may be there twice, in a random space of few values.
        left = list({work.key: work for work in left}.values())
        done, all_of_it = len(store.kept), len({work.key for work in works})
        rows = (
            local.made(left, asked.measures, processes)
            if client is None
            else cluster.made(left, asked.measures, client)
        )
        if report is not None:
            report(done, all_of_it, done / max(all_of_it, 1))
        for row in rows:
            store.append(row)
            done += 1
            if report is not None:
                report(done, all_of_it, done / all_of_it)
    finally:
        store.close()
        if client is not None:
            client.close()
    return read_sweep(output)
