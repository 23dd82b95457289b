"""A result as one HTML page that opens without a network: the plots are pictures in it."""

import html

import vl_convert

from nandram.result import TITLES, Result
from nandram.units import quantity

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .8rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
figure { margin: 1.5rem 0; } svg { max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) { body { background: #fff; } }
"""


def page(result: Result) -> str:
    """Return the page."""
    about = result.summary["nandram"]
    title = f"{about['workload']} on {about['system']}"
    charts = (result.plot_throughput(), result.plot_latency_cdf(), result.plot_dies())
    figures = "".join(f"<figure>{vl_convert.vegalite_to_svg(chart.to_json())}</figure>" for chart in charts)
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in result.notes)
    device = "".join(_row([name, quantity(name, value)]) for name, value in result.device.items() if _is_number(value))
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{html.escape(title)}</h1>"
        f"<p>seed {about['seed']}, {about['simulated_s']:.6g} s simulated, nandram {html.escape(about['version'])}</p>"
        f"<table><thead>{_row(TITLES, 'th')}</thead><tbody>{''.join(map(_row, result.rows()))}</tbody></table>"
        + (f"<ul>{notes}</ul>" if notes else "")
        + figures
        + (f"<h2>Device</h2><table>{device}</table>" if device else "")
        + "</body></html>\n"
    )


def _row(cells: list[str], tag: str = "td") -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
