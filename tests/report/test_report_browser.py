"""Reports in a browser (`make test-system`): no error, every chart drawn, nothing too wide, keys work.

Screenshots are left in ``build/screenshots``.
"""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nandram

pytestmark = pytest.mark.system

SHOTS = Path(__file__).parents[2] / "build" / "screenshots"
ARGUMENTS = """
--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, played: nandram.Result) -> str:
    folder = tmp_path_factory.mktemp("report")
    played.save(folder / "run")
    cache = folder / "cache"
    path = nandram.write_report(
        "ddrssd", "ssd_crosscheck", folder / "run", output=folder / "r.html", quick=True, cache=cache
    )
    return path.as_uri()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for argument in [*ARGUMENTS.split(), f"--user-data-dir={tmp_path / 'profile'}"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    yield driver
    driver.quit()


def show(browser: Any, report: str, width: int, media: str, scheme: str) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    size(browser, width, 900)
    browser.get(report)
    WebDriverWait(browser, 120).until(lambda each: each.execute_script("return document.documentElement.dataset.drawn"))


def size(browser: Any, width: int, height: int) -> None:
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize(("media", "scheme"), [("screen", "light"), ("screen", "dark"), ("print", "light")])
def test_it_is_drawn_without_an_error(browser: Any, report: str, width: int, media: str, scheme: str) -> None:
    show(browser, report, width, media, scheme)
    assert browser.get_log("browser") == []
    drawn, there, marks, wide = browser.execute_script(
        "const figures = [...document.querySelectorAll('figure[data-name]')];"
        "return [Number(document.documentElement.dataset.drawn), figures.length,"
        "figures.filter((each) => each.querySelector('.plot svg [class*=mark-]')).length,"
        "document.documentElement.scrollWidth]"
    )
    assert drawn == there == marks > 10
    assert wide <= width
    # No part of a chart or a drawing is cut off by its frame.
    assert (
        browser.execute_script(
            "return [...document.querySelectorAll('figure[data-name]')].filter((each) =>"
            "each.querySelector('.plot svg').getBoundingClientRect().right > each.getBoundingClientRect().right + 1)"
            ".map((each) => each.dataset.name)"
        )
        == []
    )
    height = min(browser.execute_script("return document.documentElement.scrollHeight"), 12_000)
    size(browser, width, height)
    picture = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    SHOTS.mkdir(parents=True, exist_ok=True)
    (SHOTS / f"report-{media}-{scheme}-{width}.png").write_bytes(base64.b64decode(picture["data"]))


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colors, as defined by WCAG 2.2."""

    def luminance(color: str) -> float:
        channels = [int(part) / 255 for part in color[color.index("(") + 1 : -1].split(",")[:3]]
        linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read(browser: Any, report: str, scheme: str) -> None:
    show(browser, report, 1280, "screen", scheme)
    paper, *inks = browser.execute_script(
        "const ink = (each) => getComputedStyle(document.querySelector(each)).color;"
        "return [getComputedStyle(document.body).backgroundColor, ink('main'), ink('.source'), ink('a'), ink('.held'),"
        "ink('.missed'), ink('th')]"
    )
    assert min(contrast(paper, ink) for ink in inks) >= 4.5
    fills = browser.execute_script(
        "return [...document.querySelectorAll('.plot svg text')].map((each) => getComputedStyle(each).fill)"
    )
    assert len(fills) > 100
    # Charts use the page's text color, except for labels on the cells of heat maps.
    assert sum(fill == inks[0] for fill in fills) > 0.8 * len(fills)


def test_series_zoom_and_data_by_keyboard(browser: Any, report: str) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    show(browser, report, 1280, "screen", "light")
    name = "Response times: cumulative distribution"
    figure = browser.find_element(By.CSS_SELECTOR, f"figure[data-name='{name}']")

    def lines() -> int:
        script = "return arguments[0].querySelectorAll('.mark-line path').length"
        found: int = browser.execute_script(script, figure)
        return found

    def labels() -> list[str]:
        """Return sorted marks, since redrawn ones come last."""
        script = "return [...arguments[0].querySelectorAll('.role-axis-label text')].map((each) => each.textContent)"
        found: list[str] = sorted(browser.execute_script(script, figure))
        return found

    before, all_labels = lines(), labels()
    box = figure.find_element(By.CSS_SELECTOR, ".series input")
    box.send_keys(Keys.SPACE)
    assert lines() == before - 1
    box.send_keys(Keys.SPACE)
    assert lines() == before
    zoom, reset = (
        figure.find_element(By.CSS_SELECTOR, f"button[aria-label^='{label}']") for label in ("Zoom in", "Show all")
    )
    # The chart is redrawn with a short delay.
    wait = WebDriverWait(browser, 20)
    zoom.send_keys(Keys.ENTER)
    wait.until(lambda _: labels() != all_labels)
    reset.send_keys(Keys.ENTER)
    wait.until(lambda _: labels() == all_labels)
    data = figure.find_element(By.CSS_SELECTOR, ".tools summary")
    data.send_keys(Keys.ENTER)
    assert figure.find_element(By.CSS_SELECTOR, ".tools table").is_displayed()
    assert browser.get_log("browser") == []


def test_the_pointer_shows_values(browser: Any, report: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    show(browser, report, 1280, "screen", "light")
    name = "Percentiles of the response times"
    figure = browser.find_element(By.CSS_SELECTOR, f"figure[data-name='{name}']")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", figure)
    mark = figure.find_element(By.CSS_SELECTOR, ".mark-symbol.role-mark path")
    ActionChains(browser).move_to_element(mark).perform()
    tip = browser.find_element(By.ID, "vg-tooltip-element")
    assert "answered within (us)" in tip.text
