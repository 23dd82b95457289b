"""Results of a sweep: frames, Pareto fronts and sensitivities."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandram.errors import UserError
from nandram.results import seeds as statistics

if TYPE_CHECKING:
    import polars as pl

    from nandram.results.comparison import Disagreement

BINS = 8
"""Maximum number of groups of an axis."""


@dataclass(frozen=True)
class Sweep:
    """Results of a sweep, possibly incomplete."""

    folder: Path
    table: "pl.DataFrame"
    """A row a configuration and seed: ``index``, ``seed``, the axes, the measures (their ends are their units),
    ``run_s`` (how long it took) and ``notes`` (kinds of what limits its figures, joined by semicolons); null measures
    where it was not made yet, has none, or a note makes it worthless."""
    axes: tuple[str, ...]
    measures: tuple[str, ...]
    objectives: dict[str, str]
    """``maximize`` or ``minimize``, by measure."""

    def frame(self) -> "pl.DataFrame":
        """Return the finished rows."""
        import polars as pl

        return self.table.filter(pl.col("run_s").is_not_null())

    @property
    def done(self) -> int:
        """Number of finished rows."""
        return len(self.frame())

    def notes(self) -> "dict[str, int]":
        """Return the number of finished rows with each kind of note, in order of their first row."""
        found: dict[str, int] = {}
        for kinds in self.frame()["notes"].drop_nulls():
            for kind in filter(None, kinds.split(";")):
                found[kind] = found.get(kind, 0) + 1
        return found

    def means(self) -> "pl.DataFrame":
        """Return the geometric means over the seeds, one row per configuration.

        Null where the values of the seeds fall into separate groups (`disagreements`), which have no mean.
        """
        import polars as pl

        frame = self.frame()
        groups = frame.group_by(self.axes, maintain_order=True)
        if len(frame) == frame.select(self.axes).n_unique():
            return groups.agg(pl.col("index").min(), *(pl.col(name).first() for name in self.measures))
        lists = groups.agg(pl.col("index").min(), *(pl.col(name).drop_nulls() for name in self.measures))
        means = {name: [statistics.mean(values) for values in lists[name].to_list()] for name in self.measures}
        return lists.with_columns(pl.Series(name, values, pl.Float64) for name, values in means.items())

    def disagreements(self, *measures: str) -> "list[Disagreement]":
        """Return the configurations whose seeds fall into separate groups, by default for all measures."""
        import polars as pl

        from nandram.results.comparison import Disagreement

        found = []
        rows = self.frame()
        names = ("seed", *(measures or self.measures))
        lists = rows.group_by(self.axes, maintain_order=True).agg(pl.col(name) for name in names)
        for row in lists.to_dicts():
            place = ", ".join(f"{axis}={row[axis]}" for axis in self.axes)
            for name in measures or self.measures:
                pairs = [(value, seed) for value, seed in zip(row[name], row["seed"], strict=True) if value is not None]
                values = tuple(value for value, _ in pairs)
                parts = statistics.groups(values)
                if len(parts) > 1:
                    seeds = tuple(seed for _, seed in pairs)
                    found.append(Disagreement(place, name, tuple(map(tuple, parts)), values, seeds))
        return found

    def pareto(self, **objectives: str) -> "pl.DataFrame":
        """Return the Pareto-optimal configurations, sorted by the first objective.

        `objectives`: measures, each ``maximize`` or ``minimize``; by default those of the file.
        """
        import numpy as np

        wanted = objectives or self.objectives
        if not wanted:
            raise UserError(f"{self.folder}: found no objective, expected one in the file or as an argument")
        for name, side in wanted.items():
            if name not in self.measures or side not in ("maximize", "minimize"):
                raise UserError(f"{self.folder}: found {name}={side}, expected a measure to maximize or minimize")
        rows = self.means().drop_nulls(list(wanted))
        signs = np.array([1.0 if side == "minimize" else -1.0 for side in wanted.values()])
        costs = rows.select(list(wanted)).to_numpy() * signs
        front = [
            index
            for index, cost in enumerate(costs)
            if not np.any(np.all(costs <= cost, axis=1) & np.any(costs < cost, axis=1))
        ]
        first = next(iter(wanted))
        return rows[front].sort(first, descending=wanted[first] == "maximize")

    def sensitivity(self) -> "pl.DataFrame":
        """Return for each measure and axis the fraction of variance that the axis explains on its own, ``share``.

        This is epsilon squared over the values of the axis, or over eight groups of equal size if it has more: the
        correlation ratio less what an axis without effect explains by chance, at least 0. ``low`` and ``high`` are its
        95 % interval (`nandram.sweep.explained`); an axis with a `low` of 0 is not told from chance. All three are null
        if each value of the axis has a single configuration. ``rank`` is Spearman's rank correlation, null for strings.
        """
        import polars as pl

        from nandram.sweep.explained import explained

        rows = []
        means = self.means()
        for measure in self.measures:
            of_it = means.drop_nulls(measure)
            if len(of_it) < 2 or not _varies(of_it[measure]):
                continue
            for axis in self.axes:
                numbers = _numbers(of_it[axis])
                rank = None
                if numbers is not None:
                    found = pl.DataFrame({"a": numbers, "b": of_it[measure]}).select(
                        pl.corr("a", "b", method="spearman")
                    )
                    rank = found.item()
                share, low, high = explained(_group(of_it[axis]).to_list(), of_it[measure].to_list())
                row = {"measure": measure, "axis": axis, "share": share, "low": low, "high": high, "rank": rank}
                rows.append(row)
        schema = {"measure": pl.String, "axis": pl.String}
        return pl.DataFrame(rows, schema={**schema, **dict.fromkeys(("share", "low", "high", "rank"), pl.Float64)})

    def __repr__(self) -> str:
        return f"<Sweep {self.folder}: {self.done:,} of {len(self.table):,} rows over {', '.join(self.axes)}>"

    def _repr_html_(self) -> str:
        html: str = self.frame()._repr_html_()
        return html


def _varies(values: "pl.Series") -> bool:
    """Return whether values differ by more than rounding."""
    spread, largest = values.std(), values.abs().max()
    assert isinstance(spread, float)
    assert isinstance(largest, float)
    return spread > 1e-12 * largest


def _numbers(values: "pl.Series") -> "pl.Series | None":
    """Return the numbers of an axis without units; None if it has strings."""
    import polars as pl

    from nandram.sweep.space import amount

    found = pl.Series([amount(each)[0] for each in values])
    return None if found.is_nan().any() else found


def _group(values: "pl.Series") -> "pl.Series":
    numbers = _numbers(values)
    if numbers is None or values.n_unique() <= BINS:
        return values
    return (numbers.rank("ordinal") - 1) * BINS // len(numbers)


def read_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """Read a sweep from its folder, even while it runs. Raises `UserError`."""
    import tomllib

    import polars as pl

    from nandram.language.measures import PERCENTILES, names_for
    from nandram.language.tables import read_text
    from nandram.sweep.store import COLUMNS, read_table, results

    path = Path(folder)
    if not (path / "sweep.toml").is_file():
        raise UserError(f"{path}: holds no sweep: {path / 'sweep.toml'} is missing")
    try:
        declared: dict[str, Any] = tomllib.loads(read_text(path / "sweep.toml"))
        plan = read_table(path / "plan.parquet")
        axes, objectives = tuple(declared["space"]["axes"]), declared.get("objectives", {})
        measures = (*names_for(declared.get("job")), *PERCENTILES, *declared.get("measures", {}))
        names = (*COLUMNS, *axes, *measures)
        plain = isinstance(objectives, dict) and all(side in ("maximize", "minimize") for side in objectives.values())
        of_plan = set(plan.columns) == {"index", "key", "seed", *axes}
        if not plain or not of_plan or len(set(names)) < len(names) or not set(objectives) <= set(measures):
            raise UserError(f"{path}: is damaged: sweep.toml and plan.parquet do not go together")
        found = results(path)
        missing = [pl.lit(None, pl.Float64).alias(name) for name in measures if name not in found.columns]
        found = found.with_columns(missing).select("key", *measures, "run_s", "notes")
        table = plan.join(found, on="key", how="left", maintain_order="left").drop("key").sort("index")
    except UserError:
        raise
    except (OSError, ValueError, TypeError, KeyError, AttributeError, pl.exceptions.PolarsError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{path}: is damaged: {why}") from error
    return Sweep(path, table, axes, measures, objectives)
