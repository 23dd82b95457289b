"""Charts of a served language model."""

from typing import TYPE_CHECKING, Any

from nandram.report import charts
from nandram.report.charts import Axis
from nandram.report.page import Figure, Table
from nandram.results import serving as results

if TYPE_CHECKING:
    from nandram.results.result import Result


def parts(result: "Result", source: str) -> list[Table | Figure]:
    """Return the tables and charts of a served model; none for other runs."""
    found = result.serving
    if found is None:
        return []
    titles = ("time", *results.TITLES[1:])
    tier_titles = ("tier", "capacity", "prompt tokens found", "read", "written")
    tiers = results.traffic(found, result.inside["window"]["span_s"])
    return [
        Table(titles, results.times(found), "Times of requests"),
        Table(tier_titles, tiers, "Tiers of the KV cache"),
        *_distributions(found, source),
        _bytes(found, source),
        _basis(found),
    ]


def _distributions(found: dict[str, Any], source: str) -> list[Figure]:
    """Return the cumulative distributions of TTFT and TPOT."""
    figures = []
    for key, title in (("ttft_ms", "Time to first token"), ("tpot_ms", "Time per output token")):
        quantiles = [(ms, at / 50) for at, ms in enumerate(found[key]["quantiles"]) if ms]
        if not quantiles:
            continue
        rows = [{"series": title, "x": ms, "y": part} for ms, part in quantiles]
        chart = charts.lines(
            rows, [title], Axis(f"{title.lower()} (ms)", "log"), Axis("fraction of requests", highest=1)
        )
        columns = (f"{title.lower()} (ms)", "fraction of requests")
        figures.append(Figure(f"{title}: cumulative distribution", chart, source, columns, quantiles))
    return figures


def _bytes(found: dict[str, Any], source: str) -> Figure:
    """Return the bytes read from and written to each tier."""
    rows, table = [], []
    for key, title in results.TIERS:
        tier = found["tiers"][key]
        ways = ("read", "written")
        rows += [{"series": way, "name": title, "value": tier[f"{way}_bytes"] / 1e9} for way in ways]
        table.append((title, tier["read_bytes"] / 1e9, tier["written_bytes"] / 1e9))
    chart = charts.bars(rows, ["read", "written"], Axis("bytes (GB)"), Axis("tier"))
    columns = ("tier", "read (GB)", "written (GB)")
    height = charts.rows_height(rows, 40, 20)
    return Figure("Bytes between tiers", chart, source, columns, table, ("read", "written"), height=height)


def _basis(found: dict[str, Any]) -> Table:
    """Return the values of the load, the model and the GPUs, with their bases."""
    rows = []
    bases = found["basis"]
    for key, value in found["options"].items():
        ((kind, text),) = bases.get(key, {"set": "the file"}).items()
        rows.append((key, value.strip('"'), kind, text))
    return Table(("key", "value", "basis", "source or reason"), rows, "Model, GPUs and load", ("source or reason",))
