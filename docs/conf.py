"""The documentation as a site: `make site`. The pages are plain Markdown, and read as well without it."""

from premortem import __version__

project = "premortem"
copyright = "the premortem authors"  # noqa: A001 (Sphinx asks for this name)
release = __version__

extensions = ["myst_parser"]
myst_heading_anchors = 4  # so that `page.md#a-heading` is the link that it is on a forge
# Between the marks that `make docs` writes between, a rule's heading may follow one that is two levels up.
suppress_warnings = ["myst.header"]
exclude_patterns = ["examples"]
highlight_language = "text"

html_theme = "furo"
html_title = f"premortem {release}"
html_static_path = ["_static"]
html_js_files = ["filter.js"]
html_copy_source = False
html_show_sphinx = False
# Every page must read well on a phone and without a network: Furo brings its own scripts and uses the system's fonts.
html_theme_options = {"top_of_page_buttons": []}
