"""Execution of a sweep."""

import os
from collections.abc import Callable
from pathlib import Path

from nandram.sweep.result import Sweep, read_sweep

Told = Callable[[int, int, float], None]
"""Called with the number of finished runs, the number of runs and the fraction done."""


def run_sweep(
    file: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    cache: str | os.PathLike[str] | None = "default",
    dask: str | None = None,
    workers: int | None = None,
    report: Told | None = None,
) -> Sweep:
    """Run the configurations of a sweep that are missing in the folder `output`; return the whole sweep.

    `file`: the sweep file (`nandram.sweep.declared`). `jobs`: number of parallel local runs, by default one per
    processor. `dask`: address of a scheduler, or ``slurm`` or ``pbs`` with a number of `workers`, to run there; systems
    and traces must be accessible to the workers. `cache`: cache folder for prepared drives; by default no cache if the
    configurations differ in the system, else as in `nandram.run`.

    Each result is saved when its run ends, under a hash of the program and of all its inputs: an interrupted sweep
    resumes, and a sweep with a changed file reuses the results that still apply.

    Raises `UserError` for a mistake in any argument.
    """
    from nandram.options import at_a_time, default_cache
    from nandram.sweep import cluster, declared, local
    from nandram.sweep.store import Store

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
        # A random space with few values may contain a configuration twice.
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
