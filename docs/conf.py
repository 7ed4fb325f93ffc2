"""The documentation as a site: `make site`. The pages are plain Markdown, and read as well without it."""

from sphinx.application import Sphinx

from premortem import __version__, catalog

project = "premortem"
copyright = "the premortem authors"  # noqa: A001 (Sphinx asks for this name)
release = __version__

extensions = ["myst_parser"]
myst_heading_anchors = 4  # so that `page.md#a-heading` is the link that it is on a forge
# Between the marks that `make docs` writes between, a rule's heading may follow one that is two levels up.
suppress_warnings = ["myst.header"]
exclude_patterns = ["examples"]
highlight_language = "text"
smartquotes = False  # it makes one dash of the two of an option

html_theme = "furo"
html_title = f"premortem {release}"
html_static_path = ["_static"]
html_js_files = ["filter.js"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # a browser refuses to fetch it when the pages are opened as files
# Every page must read well on a phone and without a network: Furo brings its own scripts and uses the system's fonts.
html_theme_options = {"top_of_page_buttons": []}


def _in_the_order_of_codes(_app: Sphinx, page: str, source: list[str]) -> None:
    """In the navigation, findings stand as in their table; the page itself only says `units/*`."""
    if page == "findings":
        names = [f"units/{entry.card.name}" for entry in catalog.entries()]
        source[0] = source[0].replace("units/*", "\n".join(names))


def setup(app: Sphinx) -> None:
    app.connect("source-read", _in_the_order_of_codes)
