"""Reports of a run, a sweep, a comparison, a probe and papers in a browser (`make test-system`).

Each is shown wide and narrow, light and dark.

Screenshots are left in ``build/screenshots``.
"""

import base64
import functools
from pathlib import Path
from typing import Any

import pytest

import nandram
from conftest import TINY
from fit.test_search import measured, table
from nandram.fit.evaluate import Evaluator
from nandram.fit.result import Fit
from nandram.fit.run import run_fit
from nandram.report import comparison_page
from report.pages import Page
from report.test_over_time import domains
from report.test_report_browser import SHOTS, browser, show, size

pytestmark = pytest.mark.system
__all__ = ["browser"]

DEPTHS = "[global]\nrw=randrw\nrwmixread=70\nbs=4k\nnorandommap\nnumber_ios=3000\n" + "".join(
    f"[depth{depth}]\nstonewall\niodepth={depth}\n" for depth in (1, 4, 16)
)
SWEEP = f"""system = "{TINY}"
precondition = "fill"
repeat = 2
job = '''
[reads]
rw=randread
bs=4k
iodepth={{depth}}
number_ios=500
norandommap
'''
[space]
kind = "grid"
axes = {{ depth = [1, 2, 4, 8], "flash.read" = ["20us", "40us", "60us"], "flash.erase" = ["1ms", "2ms"] }}
[objectives]
iops = "maximize"
mean_us = "minimize"
"""
CUT = """
return [...document.querySelectorAll("figure svg")].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  const beyond = (box) => box.width && (box.left < frame.left - 1 || box.right > frame.right + 1
    || box.top < frame.top - 1 || box.bottom > frame.bottom + 1);
  return [...svg.querySelectorAll("text")]
    .filter((each) => getComputedStyle(each).opacity > 0)
    .filter((each) => each.textContent.endsWith("\u2026") || beyond(each.getBoundingClientRect()))
    .map((each) => each.textContent);
});
"""
"""Script that finds texts that are shortened or reach beyond their charts and drawings."""
OVERLAPPING = """
return [...document.querySelectorAll("figure svg")].flatMap((svg) => {
  // The box of a slanted text is larger than the text; at its own scale, an upright one has its letters' height.
  const upright = (each) => each.getCTM().b === 0 && getComputedStyle(each).opacity > 0;
  const texts = [...svg.querySelectorAll("text")].filter(upright)
    .map((each) => [each.textContent, each.getBoundingClientRect()]);
  const apart = (one, other) => one.right <= other.left + 1 || other.right <= one.left + 1
    || one.bottom <= other.top + 3 || other.bottom <= one.top + 3;
  return texts.flatMap(([name, box], index) =>
    texts.slice(index + 1).filter(([, other]) => box.width && other.width && !apart(box, other))
      .map(([other]) => name + " | " + other));
});
"""
"""Script that finds pairs of texts that overlap."""
SCROLLED = """
return [...document.querySelectorAll("section > .scroll")].filter((each) =>
  each.querySelector("table.lines") && each.scrollWidth > each.clientWidth).length;
"""
"""Script that counts tables with sentences that must be scrolled sideways."""
EMPTY_MOST = 1 / 3
"""Maximum fraction of a card that an empty rectangle may cover."""


def fitted(folder: Path) -> Fit:
    """Return a fit of a simulated drive, refined for one iteration."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nandram.fit.run.Evaluator", functools.partial(Evaluator, requests=2000))
        patch.setattr("nandram.fit.search.ITERATIONS", 1)
        patch.setattr("nandram.fit.search.REFINED", 1)
        data = table(folder, measured(folder, depths=(1, 2, 3, 4, 8, 16)))
        return run_fit([data], folder / "start.toml", hold_out=["depth=3"], share=0.0)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    job, sweep = folder / "depths.fio", folder / "sweep.toml"
    job.write_text(DEPTHS)
    sweep.write_text(SWEEP)
    drive = nandram.load_system("nvme-client-tlc", scale="1/16")
    nandram.run(drive, job, precondition="steady", cache=None, output=folder / "run")
    nandram.run_sweep(sweep, folder / "sweep", jobs=1, cache=None)
    nandram.write_report(folder / "sweep", output=folder / "sweep.html")
    found = nandram.compare(TINY, nandram.load_system(TINY, {"flash.read": "70us"}), job, seeds=2, precondition="fill")
    comparison_page(found, folder / "comparison.html")
    nandram.run_probe(TINY, cache=None).save(folder / "probe")
    fitted(folder).save(folder / "fit.toml")
    cache = folder / "cache"
    nandram.write_report("ddrssd", "ssd_crosscheck", output=folder / "papers.html", quick=True, cache=cache)
    names = {"run": "run/report.html", "probe": "probe/report.html"}
    names |= {name: f"{name}.html" for name in ("sweep", "comparison", "papers", "fit")}
    return {name: folder / path for name, path in names.items()}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", ["run", "sweep", "comparison", "probe", "papers", "fit"])
def test_cards_are_filled_and_nothing_is_cut(
    browser: Any, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    show(browser, pages[name].as_uri(), width, "screen", scheme)
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    size(browser, width, browser.execute_script("return document.documentElement.scrollHeight"))
    assert browser.execute_script(CUT) == []
    assert browser.execute_script(OVERLAPPING) == []
    assert browser.execute_script(SCROLLED) == 0
    picture = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
    SHOTS.mkdir(parents=True, exist_ok=True)
    (SHOTS / f"{name}-{scheme}-{width}.png").write_bytes(base64.b64decode(picture))
    script = (Path(__file__).parent / "emptiness.js").read_text()
    cards = browser.execute_async_script(script, picture)
    assert cards
    assert {card: part for card, part in cards if part > EMPTY_MOST} == {}


def test_a_run_with_several_depths_is_drawn_over_depth(pages: dict[str, Path]) -> None:
    titles = {each["title"] for each in Page(pages["run"].read_text()).figures}
    assert {"Requests per second over queue depth", "99th percentile over queue depth"} <= titles
    assert {"Throughput against response time", "Response times over time: reads"} <= titles


def test_axes_magnify_no_noise_and_bars_begin_at_nothing(pages: dict[str, Path]) -> None:
    def marks(spec: Any) -> set[str]:
        return {each["mark"]["type"] for each in [spec, *spec.get("layer", [])] if "mark" in each}

    bars = 0
    for name, page in pages.items():
        for figure in Page(page.read_text()).figures:
            title, spec = figure["title"], figure["spec"]
            if title.startswith("Utilization"):
                assert [0, 1] in domains(spec), title
            if "bar" in marks(spec):
                bars += 1
                barred = [layer["encoding"] for layer in spec["layer"] if layer["mark"]["type"] == "bar"]
                ends = [each[axis] for each in barred for axis in ("x", "y") if each[axis]["type"] == "quantitative"]
                scales = [each.get("scale", {}) for each in ends]
                # Without a domain, Vega-Lite begins bars at 0 unless told otherwise.
                beyond = [each for each in scales if not each.get("zero", True)]
                beyond += [
                    each for each in scales if "domain" in each and not each["domain"][0] <= 0 <= each["domain"][1]
                ]
                assert scales, (name, title)
                assert beyond == [], (name, title)
            if title == "Change by figure":
                low, high = next(each for each in domains(spec) if isinstance(each[0], int | float))
                assert low <= -5 < 5 <= high
    assert bars >= 4
