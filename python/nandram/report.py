"""A result as one HTML page that opens without a network: the plots are pictures in it."""

import html

import vl_convert

from nandram.result import TITLES, Result

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .8rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
figure { margin: 1.5rem 0; } svg { width: min(100%, 54rem); height: auto; }
@media (prefers-color-scheme: dark) { body { background: #fff; } }
"""


def page(result: Result) -> str:
    """Return the page."""
    title = result.title
    about = f"{result.inside['system']}; seed {result.manifest['seed']}, nandram {result.manifest['version']}"
    charts = (result.plot_throughput(), result.plot_latency_cdf(), result.plot_dies())
    figures = "".join(f"<figure>{vl_convert.vegalite_to_svg(chart.to_json())}</figure>" for chart in charts)
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in result.notes)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body>"
        f"<h1>{html.escape(title)}</h1>"
        f"<p>{html.escape(about)}</p>"
        f"<table><thead>{_row(TITLES, 'th')}</thead><tbody>{''.join(map(_row, result.rows()))}</tbody></table>"
        f"<ul>{notes}</ul>{figures}</body></html>\n"
    )


def _row(cells: list[str], tag: str = "td") -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
