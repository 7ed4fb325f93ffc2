"""A page in a real browser: it draws, says nothing on the console, zooms, and fits on a phone."""

import json
import sqlite3

import pytest

from premortem.report import html, story
from tests.browsing import chromium
from tests.report.conftest import premortem

SCREENS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def address(broken):
    done = premortem("report", "-o", "browser.html", cwd=broken)
    assert done.returncode == 0, done.stderr
    return (broken / "browser.html").as_uri()


@pytest.fixture
def shown(browser, address):
    """Opens the page; complaints of the console and attempts to load something are collected."""
    contexts = []

    def opened(width, scheme):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.complaints = []
        page.on(
            "console",
            lambda line: page.complaints.append(line.text) if line.type in {"error", "warning"} else None,
        )
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on(
            "request", lambda request: page.complaints.append(request.url) if request.url != address else None
        )
        page.goto(address)
        page.wait_for_selector("html[data-ready=yes]", state="attached", timeout=60_000)
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_the_page_draws_without_a_complaint_and_fits(shown, width, scheme):
    page = shown(width, scheme)
    assert [url for url in page.complaints if not url.startswith("data:")] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    drawn = page.evaluate(
        "[...document.querySelectorAll('.plot')].map((e) => [e.dataset.plot, e.offsetHeight])"
    )
    assert len(drawn) >= 5
    assert [name for name, height in drawn if height < 100] == []
    ink = "Bokeh.documents.flatMap((d) => [...d.all_models]).filter((m) => m.type == 'Title').map((m) => m.text_color)"
    assert set(page.evaluate(ink)) == {"#e4e7ea" if scheme == "dark" else "#1c2024"}


@pytest.mark.browser
def test_paper_is_light_also_when_the_screen_is_dark(shown):
    page = shown(1280, "dark")
    colour = "Bokeh.documents.flatMap((d) => [...d.all_models]).find((m) => m.type == 'Title').text_color"
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(colour) == "#1c2024"
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(colour) == "#e4e7ea"
    assert [line for line in page.complaints if not line.startswith("data:")] == []


@pytest.mark.browser
def test_dragging_over_one_plot_zooms_all_of_them(shown):
    page = shown(1280, "light")
    page.evaluate(
        "document.querySelector('[data-plot=timeline]').scrollIntoView({block: 'start', behavior: 'instant'})"
    )
    page.evaluate("scrollBy({top: -80, behavior: 'instant'})")  # below the contents, which stay on top
    box = page.locator("[data-plot=timeline]").bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 110, steps=5)
    page.mouse.up()
    page.wait_for_timeout(500)
    shared = page.evaluate(
        "(() => { const plots = Bokeh.documents.flatMap((d) => [...d.all_models]).filter((m) => m.type == 'Figure');"
        "const x = plots.map((p) => p.x_range); const counts = x.map((r) => x.filter((o) => o === r).length);"
        "const most = Math.max(...counts); const r = x[counts.indexOf(most)]; return [most, r.start, r.end]; })()"
    )
    assert shared[0] >= 4, "the plots of the timeline have one axis"
    assert shared[1] > 0, "zoomed"
    assert shared[2] - shared[1] < 40


TIPS = """(() => {
  const found = [];
  const walk = (node) => {
    if (node.shadowRoot) walk(node.shadowRoot);
    if (node.className === "bk-tooltip-content") found.push(node.textContent);
    if (node.tagName === "IMG") found.push("an image");
    for (const child of node.children || []) walk(child);
  };
  walk(document.body);
  return found.join(" ");
})()"""


def hovered(page, name):
    """What is said about the middle of a plot."""
    page.evaluate(
        f"document.querySelector('[data-plot={name}]').scrollIntoView({{block: 'center', behavior: 'instant'}})"
    )
    page.wait_for_timeout(500)
    box = page.locator(f"[data-plot={name}]").bounding_box()
    for moved in range(6):
        page.mouse.move(box["x"] + box["width"] / 2 + moved, box["y"] + 30 + moved)
        page.wait_for_timeout(100)
    page.wait_for_timeout(800)
    return page.evaluate(TIPS)


@pytest.mark.browser
def test_hovering_tells_the_value(shown):
    tip = hovered(shown(1280, "light"), "heat-gradient")
    assert "layer: model." in tip
    assert "gradient norm:" in tip


@pytest.mark.browser
def test_names_are_text_in_tooltips_too(browser, journal, tmp_path):
    evil = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    path = journal(losses=[1.0, 0.5, 0.4])
    connection = sqlite3.connect(path)
    rows = [(step, "gradient", json.dumps({evil: 1.0, f"{evil} 2": 2.0})) for step in range(1, 9)]
    connection.executemany("INSERT INTO layers VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    (tmp_path / "evil.html").write_text(html.page(story.read(path)), encoding="utf-8")
    page = browser.new_page()
    said = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.goto((tmp_path / "evil.html").as_uri())
    page.wait_for_selector("html[data-ready=yes]", state="attached", timeout=60_000)
    tip = hovered(page, "heat-gradient")
    page.close()
    assert said == []
    assert f"layer: {evil}" in tip
    assert "an image" not in tip
