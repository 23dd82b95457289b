"""Measure the served models over offered load, as in `make serving`: the numbers and charts of docs/serving.md."""

import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nandram

HERE = Path(__file__).parent
DOCS = HERE.parent.parent / "docs"
MODELS = {"8b": ("Llama-3-8B", 0.4), "70b": ("Llama-3-70B", 0.3)}
"""Title, and the load in sessions per second of the table of tiers and wear."""
DRIVES = {
    "client": "client TLC",
    "enterprise": "enterprise TLC",
    "hbf-tier": "HBF",
    "none": "no drive",
}
LOADS = {"8b": (0.2, 0.4, 0.6, 0.8, 1.0), "70b": (0.1, 0.2, 0.3, 0.4, 0.5)}
"""Offered loads in sessions per second."""
LONG = {"client": "1/16", "enterprise": "1/36", "hbf-tier": "1/4"}
"""Scales at which the drives are overwritten several times in a run."""

Row = dict[str, Any]


def run(work: tuple[str, str, float, str | None]) -> Row:
    """Run a model on a drive at a load, or on a drive at a scale, and return its figures."""
    model, drive, load, scale = work
    text = (HERE / f"chat-{model}.toml").read_text(encoding="utf-8")
    text = re.sub(r'rate = "[^"]*"', f'rate = "{load}/s"', text)
    if drive == "none":
        text = re.sub(r"(\[drive\]\n)count = \d", r"\1count = 0", text)
    if scale:
        text = text.replace('duration = "600s"', 'duration = "900s"').replace('warm_up = "300s"', 'warm_up = "600s"')
    system = str(HERE / f"{'client' if drive == 'none' else drive}.toml")
    started = time.perf_counter()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "chat.toml"
        file.write_text(text, encoding="utf-8")
        changes = {"scale": scale} if scale else {}
        found = nandram.run(system, file, precondition="fill", cache=None, set=changes).serving
    assert found is not None
    return {"model": model, "drive": drive, "load": load, "scale": scale, "took": time.perf_counter() - started} | found


def table(titles: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def ms(value: float | None) -> str:
    """Return a time, given in milliseconds, with three digits."""
    from nandram.units import duration

    return "" if value is None else duration(value * 1e6)


def over_load(rows: list[Row], model: str) -> str:
    """Return the table of TTFT and TPOT over load."""
    titles = ["sessions/s", "requests/s"]
    titles += [f"{what} p95, {title}" for what in ("TTFT", "TPOT") for title in DRIVES.values()]
    lines = []
    for load in LOADS[model]:
        of = {row["drive"]: row for row in rows if (row["model"], row["load"]) == (model, load)}
        times = [ms(of[drive][what]["p95"]) for what in ("ttft_ms", "tpot_ms") for drive in DRIVES]
        lines.append([f"{load:g}", f"{of['client']['requests_per_s']:.2f}", *times])
    return table(titles, lines)


def tiers(rows: list[Row], model: str, load: float) -> str:
    """Return the table of hits, fetches and wear at one load."""
    titles = [
        "drives",
        "found: GPU",
        "host",
        "drives",
        "fetch p95",
        "read",
        "written",
        "DWPD",
        "WA",
        "lifetime",
        "J/token",
    ]
    lines = []
    for row in rows:
        if row["model"] != model or row["load"] != load or row["scale"]:
            continue
        hits, drive = row["hits"], row["tiers"]["drive"]
        found = [f"{100 * hits[key]:.1f} %" for key in ("gpu", "host", "drive")]
        name = f"{drive['count']} x {DRIVES[row['drive']]}" if drive["count"] else DRIVES["none"]
        wear = ["", "", "", "", ""]
        if drive["host_bytes"]:
            years = drive["lifetime_years"]
            rates = [f"{drive[key] / 300e6:,.0f} MB/s" for key in ("read_bytes", "written_bytes")]
            life = f"{365 * years:.0f} days" if years < 2 else f"{years:.1f} years"
            wear = [*rates, f"{drive['dwpd']:.2f}", f"{drive['write_amplification']:.2f}", life]
        lines.append([name, *found, ms(row["fetch_ms"]["p95"]), *wear, f"{row['energy']['per_token_j']:.2f}"])
    return table(titles, lines)


def long_runs(rows: list[Row]) -> str:
    """Return the table of write amplification after several drive writes."""
    titles = ["drive", "scale", "drive writes counted", "write amplification"]
    lines = []
    for row in rows:
        drive = row["tiers"]["drive"]
        writes = drive["dwpd"] * 300 / 86400
        lines.append([DRIVES[row["drive"]], row["scale"], f"{writes:.2f}", f"{drive['write_amplification']:.2f}"])
    return table(titles, lines)


def chart(rows: list[Row], what: str, title: str, path: Path) -> None:
    """Draw a time over load, one panel per model."""
    import altair as alt
    import polars as pl

    data = pl.DataFrame(
        [
            {
                "model": MODELS[row["model"]][0],
                "sessions": row["load"],
                "drives": DRIVES[row["drive"]],
                "ms": row[what]["p95"],
            }
            for row in rows
        ]
    )
    lines = (
        alt.Chart(data)
        .mark_line(point=True)
        .encode(
            alt.X("sessions:Q", title="offered load (sessions/s)"),
            alt.Y("ms:Q", title=title, scale=alt.Scale(type="log")),
            alt.Color("drives:N", sort=list(DRIVES.values())),
            alt.StrokeDash("drives:N", sort=list(DRIVES.values()), legend=None),
        )
    )
    panels = lines.properties(width=300, height=240).facet(alt.Column("model:N", title=None, sort=["Llama-3-8B"]))
    panels.resolve_scale(x="independent", y="independent").save(path)


def main() -> None:
    """Run everything and write the numbers into the page."""
    plan: list[tuple[str, str, float, str | None]] = [
        (model, drive, load, None) for model in MODELS for drive in DRIVES for load in LOADS[model]
    ]
    plan += [("8b", drive, 0.4, scale) for drive, scale in LONG.items()]
    started = time.perf_counter()
    with ProcessPoolExecutor(2) as pool:
        found = []
        for row in pool.map(run, plan):
            found.append(row)
            print(f"{row['model']} {row['drive']} {row['load']}: {row['took']:.1f} s", file=sys.stderr, flush=True)
    print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr)
    rows, long = [row for row in found if not row["scale"]], [row for row in found if row["scale"]]
    parts = []
    for model, (title, load) in MODELS.items():
        parts.append(f"### {title}\n\n{over_load(rows, model)}\nAt {load:g} sessions/s:\n\n{tiers(rows, model, load)}")
    parts.append(f"### Write amplification in the long run\n\n{long_runs(long)}")
    page = DOCS / "serving.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split("<!-- measured -->\n", 1)
    _, after = rest.split("<!-- end -->\n", 1)
    body = "\n".join(parts)
    page.write_text(f"{before}<!-- measured -->\n{body}<!-- end -->\n{after}", encoding="utf-8")
    chart(rows, "ttft_ms", "TTFT, p95 (ms)", DOCS / "serving-ttft.svg")
    chart(rows, "tpot_ms", "TPOT, p95 (ms)", DOCS / "serving-tpot.svg")


if __name__ == "__main__":
    main()
