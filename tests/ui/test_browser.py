"""The pages in a real browser: they draw, go on by themselves, are filtered and zoomed, and obey the keyboard."""

import shutil

import pytest

from premortem.findings import Severity
from premortem.journal import Run
from tests.ui.conftest import finding, until

pytestmark = pytest.mark.browser
READY = "html[data-ready=yes]"
SCREENS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
LAST = """(() => { const lines = Bokeh.documents.flatMap((d) => [...d.all_models]).filter((m) => m.type == 'ColumnDataSource');
return Math.max(...lines.flatMap((s) => [...(s.data.x ?? s.data.get?.('x') ?? [])])); })()"""
RANGE = """(() => { const r = Bokeh.documents.flatMap((d) => [...d.all_models]).find((m) => m.type == 'Figure' && m.title.text == 'loss').x_range;
return [r.start, r.end]; })()"""


def drawn(page):
    page.wait_for_selector(READY, state="attached", timeout=60_000)
    return page


def chosen(page):
    return page.evaluate("document.activeElement.getAttribute('href')")


@pytest.fixture
def three(journal):
    journal("a", losses=[1.0, 0.5, 0.4], started="2026-01-01T00:00:00+00:00", argv=["first.py"])
    journal("b", losses=[1.0, 0.5], started="2026-01-03T00:00:00+00:00", findings=[finding()])
    journal("c", losses=[1.0], started="2026-01-02T00:00:00+00:00", findings=[finding(Severity.WARNING)])


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_both_pages_draw_without_a_complaint_and_fit(serve, three, visit, tmp_path, width, scheme):
    server = serve(tmp_path / "runs")
    page = visit(server, width=width, scheme=scheme)
    assert page.locator(".runs a").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator(".runs a").first.click()
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("[data-plot=timeline]").bounding_box()["height"] > 300
    ink = "Bokeh.documents.flatMap((d) => [...d.all_models]).filter((m) => m.type == 'Title').map((m) => m.text_color)"
    assert set(page.evaluate(ink)) == {"#e4e7ea" if scheme == "dark" else "#1c2024"}
    assert page.complaints == []


def test_the_list_is_searched_and_filtered_as_one_types(serve, three, visit, tmp_path):
    page = visit(serve(tmp_path / "runs"))
    page.keyboard.press("/")
    page.keyboard.type("first")
    page.wait_for_function("document.querySelectorAll('.runs a').length == 1")
    assert page.url.endswith("/?q=first")
    page.keyboard.press("Escape")
    page.wait_for_function("document.querySelectorAll('.runs a').length == 3")
    assert page.evaluate("document.activeElement === document.body")
    page.select_option("select", "bad")
    page.wait_for_function("document.querySelectorAll('.runs a').length == 1")
    assert page.locator(".runs a").get_attribute("href") == "/runs/b"
    assert page.complaints == []


def test_the_keyboard_is_enough(serve, three, visit, tmp_path):
    server = serve(tmp_path / "runs")
    page = visit(server)
    for key, expected in [
        ("j", "b"),
        ("j", "c"),
        ("ArrowDown", "a"),
        ("j", "a"),
        ("k", "c"),
        ("ArrowUp", "b"),
        ("j", "c"),
    ]:
        page.keyboard.press(key)
        assert chosen(page) == f"/runs/{expected}", key
    page.keyboard.press("Enter")
    drawn(page)
    assert page.url == f"{server.base}/runs/c"
    page.keyboard.press("Escape")
    page.wait_for_selector(".runs")
    assert page.complaints == []


def test_a_run_that_trains_goes_on_before_ones_eyes_and_keeps_the_zoom(serve, training, visit, tmp_path):
    training()
    server = serve(tmp_path / "runs")
    page = drawn(visit(server, "/runs/live"))
    before = page.evaluate(LAST)
    page.wait_for_function(f"{LAST} > {before + 20}", timeout=30_000)
    first = page.evaluate(RANGE)
    page.wait_for_function(f"{RANGE}[1] > {first[1]}", timeout=30_000)
    page.evaluate("document.querySelector('[data-plot=timeline]').scrollIntoView({behavior: 'instant'})")
    page.wait_for_timeout(200)
    box = page.locator("[data-plot=timeline]").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 110, steps=5)
    page.mouse.up()
    page.wait_for_timeout(300)
    zoomed = page.evaluate(RANGE)
    assert zoomed[0] > 0
    seen = page.evaluate("document.documentElement.dataset.shown")
    for _ in range(2):
        page.wait_for_function(f"document.documentElement.dataset.shown != {seen!r}", timeout=30_000)
        seen = page.evaluate("document.documentElement.dataset.shown")
    assert page.evaluate(RANGE) == pytest.approx(zoomed)
    assert page.locator("main").count() == 1
    assert page.locator("[data-plot=timeline]").count() == 1
    assert page.evaluate("Bokeh.documents.length") <= 3, "old plots are let go"
    assert page.complaints == []


def test_the_list_shows_a_run_that_comes_and_its_steps(serve, training, visit, tmp_path):
    (tmp_path / "runs").mkdir()
    page = visit(serve(tmp_path / "runs"))
    assert "No run was made here yet" in page.content()
    training()
    page.wait_for_selector(".state.running", timeout=30_000)
    numbers = page.locator(".numbers").inner_text()
    page.wait_for_function(f"document.querySelector('.numbers').innerText != {numbers!r}", timeout=30_000)
    assert page.complaints == []


def test_the_buttons_save_and_then_stop_a_real_run(serve, training, visit, tmp_path):
    process = training()
    page = drawn(visit(serve(tmp_path / "runs"), "/runs/live"))
    page.get_by_role("button", name="Save now").click()
    page.wait_for_function(
        "document.getElementById('status').innerText.startsWith('Saved at step')", timeout=30_000
    )
    assert (tmp_path / "runs" / "live" / "last_good.pt").is_file()
    assert process.poll() is None
    page.get_by_role("button", name="Stop after this step").click()
    page.wait_for_timeout(500)
    assert process.poll() is None, "one click is no decision"
    page.get_by_role("button", name="Really stop?").click()
    assert process.wait(30) == 3
    page.wait_for_function(
        "document.querySelector('.lead').innerText.includes('asked for in the ui')", timeout=30_000
    )
    assert page.get_by_role("button").count() == 0
    with Run(tmp_path / "runs" / "live") as run:
        assert run.meta["message"] == "asked for in the ui"
    assert page.complaints == []


def test_a_run_that_is_deleted_while_it_is_shown(serve, three, visit, tmp_path):
    page = drawn(visit(serve(tmp_path / "runs"), "/runs/a"))
    shutil.rmtree(tmp_path / "runs" / "a")
    page.wait_for_function(
        "document.getElementById('status').innerText.includes('was deleted')", timeout=30_000
    )
    assert page.locator("[data-plot=timeline]").bounding_box()["height"] > 300, "what was seen stays"
    assert page.complaints == []


def test_names_that_are_markup_do_nothing(serve, journal, visit, tmp_path):
    evil = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    journal("evil", losses=[1.0, 0.5], argv=[evil], findings=[finding(message=evil, name=evil)])
    server = serve(tmp_path / "runs")
    page = visit(server)
    said = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.fill("input[type=search]", evil[:12])
    page.wait_for_timeout(600)
    assert page.locator(".what").inner_text() == evil
    page.locator(".runs a").click()
    drawn(page)
    assert page.locator("main img").count() == 0
    assert said == []
    assert page.complaints == []


def test_plots_further_down_are_drawn_when_one_gets_there(serve, journal, visit, tmp_path):
    found = [finding(code=f"PM44{n}", step=60, message=f"finding {n}") for n in range(4)]
    journal("long", losses=[1.0 / n for n in range(1, 90)], findings=found)
    page = drawn(visit(serve(tmp_path / "runs"), "/runs/long"))
    last = page.locator("[data-plot^=window]").last
    assert last.evaluate("(place) => place.childElementCount") == 0
    last.scroll_into_view_if_needed()
    until(lambda: last.evaluate("(place) => place.childElementCount") or page.wait_for_timeout(100))
    assert page.complaints == []
