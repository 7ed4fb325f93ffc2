"""The site: built without a warning, and it works in a browser that has no network."""

import re
import subprocess
import sys

import pytest

from tests.browsing import CHROMIUM
from tests.docs.blocks import ROOT

pytest.importorskip("furo", reason="furo is not installed: it needs Python 3.11")
pytestmark = [pytest.mark.exhaustive, pytest.mark.slow]
PAGES = ("index", "tutorial", "how", "findings", "measured", "units/broadcast-in-loss", "recipes/slurm")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(folder / "trees")]
    done = subprocess.run(
        [*command, "docs", str(folder / "site")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


def test_no_page_loads_anything_from_elsewhere(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(https?:[^"]+)"', text)
        assert loaded == [], page


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_pages_fit_and_are_searched_without_a_network(site, width, scheme):
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM)
        screen = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
        page = browser.new_context(offline=True, **screen).new_page()
        complaints = []
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("requestfailed", lambda request: complaints.append(request.url))
        for name in PAGES:
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        page.goto((site / "findings.html").as_uri())
        rows = page.locator("article tbody tr:visible")
        before = rows.count()
        page.get_by_label("Filter the table").fill("broadcast shape")
        assert 1 <= rows.count() < before / 10
        assert "PM411" in rows.first.inner_text()
        page.goto((site / "search.html").as_uri() + "?q=requeue")
        page.wait_for_selector("#search-results li")
        assert "SLURM" in page.locator("#search-results").inner_text()
        assert complaints == []
        browser.close()
