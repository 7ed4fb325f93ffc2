"""A page that goes on by itself leaves alone what a person does with it; runs are sorted, selected and compared."""

import json

import pytest

from tests.ui.conftest import finding
from tests.ui.test_browser import drawn

SHOWN = "document.documentElement.dataset.shown"
WORDS = """(() => { const text = document.querySelector('#setup h2').firstChild, range = document.createRange();
range.selectNodeContents(text); const now = getSelection(); now.removeAllRanges(); now.addRange(range); })()"""


def goes_on(page, times=2):
    for _ in range(times):
        seen = page.evaluate(SHOWN)
        page.wait_for_function(f"{SHOWN} != {json.dumps(seen)}", timeout=60_000)


@pytest.mark.browser
def test_selection_focus_details_and_scroll_survive_while_it_trains(serve, training, visit, tmp_path):
    training()
    page = drawn(visit(serve(tmp_path / "runs"), "/runs/live"))
    goes_on(page, 1)
    page.evaluate("document.querySelector('#setup').scrollIntoView({behavior: 'instant'})")
    page.evaluate("document.querySelector('nav a').focus({preventScroll: true})")
    page.evaluate(WORDS)
    page.evaluate(
        "window.kept = [document.querySelector('main'), document.activeElement, (window.top_of = () => document.querySelector('#setup').getBoundingClientRect().top)()]"
    )
    steps = page.evaluate("document.querySelector('.facts').innerText")
    goes_on(page, 3)
    assert page.evaluate("getSelection().toString()") == "Setup"
    assert page.evaluate("document.querySelector('main') === kept[0] && document.activeElement === kept[1]")
    assert page.evaluate("Math.abs(top_of() - kept[2])") <= 2, "what one reads stays where it is"
    assert page.evaluate("document.querySelector('.facts').innerText") != steps, "and its numbers go on"
    assert page.complaints == []


PAGES = """(([before, after]) => { const made = (text) => new DOMParser().parseFromString(text, 'text/html').body;
const here = made(before); const kept = new Map([...here.querySelectorAll('[data-key]')].map((e) => [e.dataset.key, e]));
const opened = here.querySelector('details'); if (opened) opened.open = true;
live.patch(here, made(after));
return [here.innerHTML, [...here.querySelectorAll('[data-key]')].map((e) => kept.get(e.dataset.key) === e), opened?.isConnected && opened.open]; })"""


@pytest.mark.browser
def test_a_patched_page_is_the_new_one_and_keeps_what_is_the_same(serve, journal, visit, tmp_path):
    journal("a", losses=[1.0])
    page = visit(serve(tmp_path / "runs"))
    one = '<li data-key="1">one</li>'
    two = '<li data-key="2">two</li>'
    new = '<li data-key="3">three</li>'
    cases = [
        (f"<ul>{one}{two}</ul>", f"<ul>{new}{two}{one}</ul>", [False, True, True]),
        (f"<ul>{one}{two}{new}</ul>", f"<ul>{new}</ul>", [True]),
        ("<p>a <b>b</b> c</p>", "<p>a <i>b</i> d<b>e</b></p>", []),
        ('<p class="x" title="y">a</p>', '<p class="z">a</p><p>b</p>', []),
        (f"<h2>x</h2>{one}", f"<section><h2>x</h2></section>{one}<p></p>", [True]),
        ("<p>gone</p>", "", []),
    ]
    for before, after, kept in cases:
        html, same, _open = page.evaluate(PAGES, [before, after])
        assert (html, same) == (after, kept), (before, after)
    page_with = "<p>{}</p><details><summary>s</summary>x</details>"
    _html, _same, still_open = page.evaluate(PAGES, [page_with.format(1), page_with.format(2)])
    assert still_open


@pytest.mark.browser
def test_two_runs_are_selected_and_compared(serve, journal, visit, tmp_path):
    journal("a", losses=[1.0, 0.5, 0.4], started="2026-01-01T00:00:00+00:00")
    journal("b", losses=[1.0, 0.6], started="2026-01-03T00:00:00+00:00", findings=[finding()])
    journal("c", losses=[1.0, 0.9], started="2026-01-02T00:00:00+00:00")
    server = serve(tmp_path / "runs")
    page = visit(server)
    assert page.locator(".spark polyline").count() == 3
    page.get_by_role("link", name="most steps").click()
    page.wait_for_function("document.querySelector('.runs a').getAttribute('href') == '/runs/a'")
    assert page.url.endswith("sort=most+steps")
    assert not page.locator("#compare").is_visible()
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.get_by_label("Select b").check()
    page.get_by_label("Select c").check()
    assert page.locator(".runs input:checked").count() == 2, "two are compared"
    page.get_by_label("Select c").uncheck()
    page.get_by_label("Select a").check()
    page.locator("#compare").click()
    drawn(page)
    assert "The two runs part at step 2: the loss is 0.5 and 0.6." in page.locator("h1").inner_text()
    assert page.locator("[data-plot=timeline]").bounding_box()["height"] > 300
    assert page.complaints == []


def test_several_folders_are_one_list_and_an_api(serve, journal, tmp_path):
    journal("a", losses=[1.0, 0.5])
    other = tmp_path / "elsewhere"
    journal("moved", losses=[1.0]).parent.rename(tmp_path / "a")
    other.mkdir()
    (tmp_path / "a").rename(other / "a")
    server = serve(tmp_path / "runs", "--folder", str(other))
    said = json.loads(server.get("/api/v1/runs?sort=most+steps")[2])
    assert [(run["name"], run["steps"]) for run in said["runs"]] == [("a", 2), ("a~2", 1)]
    assert said["runs"][0]["losses"] == [1.0, 0.5]
    text = server.get("/")[2]
    assert str(other) in text
    one = json.loads(server.get("/api/v1/runs/a")[2])
    assert (one["schema"], one["verdict"]["tone"]) == (1, "good")
    both = json.loads(server.get("/api/v1/compare?run=a&run=a~2")[2])
    assert both["common_steps"] == 1
    assert server.get("/api/v1/runs/none")[0] == 404
    assert server.get("/api/v1/compare?run=a")[0] == 404
    assert server.get("/compare?run=a&run=none")[0] == 404
    assert server.stranger("/api/v1/runs")[0] == 403
    assert server.stranger("/api/v1/runs", {"authorization": f"Bearer {server.token}"})[0] == 200
    assert server.stranger("/api/v1/runs", {"authorization": "Bearer no"})[0] == 403
