"""The page: one file that opens without a network, with everything in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem import __version__, amounts
from premortem.errors import MissingExtra
from premortem.report import words
from premortem.report.comparison import Comparison
from premortem.report.curves import Curve
from premortem.report.story import Story

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

HOME = Path(__file__).parent
_WIDE, _HIGH = 120, 26  # pixels of a histogram
Drawing = Callable[[], Any]


def page(story: Story) -> str:
    return _render("page.html", drawings(story), story=story)


def drawings(story: Story) -> dict[str, Drawing]:
    """All plots of a page by their names. Each is made when it is called: that is what takes time."""
    plots = ready()
    items: dict[str, Drawing] = {}
    shown = {**story.drawn, **grouped(story.metrics)}
    if shown:
        items["timeline"] = partial(plots.timeline, shown, story.findings, story.marks, story.steps)
    for place, view in enumerate(story.findings):
        if view.window:
            items[f"window-{place}"] = partial(plots.window, view)
    for heat in story.heats:
        items[f"heat-{heat.what}"] = partial(plots.heat, heat)
    if story.trials is not None and story.trials.curves:
        items["trials"] = partial(plots.curves, "loss, as it is and changed", story.trials.curves, height=320)
    if story.memory:
        items["memory"] = partial(plots.memory, story.memory)
    return items


def comparison_page(comparison: Comparison) -> str:
    return _render("comparison.html", comparison_drawings(comparison), comparison=comparison)


def comparison_drawings(comparison: Comparison) -> dict[str, Drawing]:
    plots = ready()
    items: dict[str, Drawing] = {}
    shown: dict[str, dict[str, Curve]] = {}
    for name, story in (("A", comparison.left), ("B", comparison.right)):
        for plot, lines in {**story.drawn, **grouped(story.metrics)}.items():
            for line, curve in lines.items():
                shown.setdefault(plot, {})[f"{name} {line}".strip()] = curve
    if shown:
        last = max(comparison.left.steps, comparison.right.steps)
        items["timeline"] = partial(plots.timeline, shown, (), (), last)
    return items


def grouped(metrics: Mapping[str, Curve]) -> dict[str, dict[str, Curve]]:
    """`train_loss` and `val_loss` belong into one plot."""
    found: dict[str, dict[str, Curve]] = {}
    for name, curve in metrics.items():
        found.setdefault(f"printed: {re.split('[_/.-]', name)[-1]}", {})[name] = curve
    return found


def ready() -> Any:
    """The plots, with their library loaded. Raises MissingExtra."""
    try:
        from premortem.report import plots
    except ModuleNotFoundError as error:
        raise MissingExtra("the HTML page (`--format md` does not)", "report") from error
    return plots


def scene(*folders: Path) -> Environment:
    """Templates of the report, and of these folders before them."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader([*folders, HOME]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        prose=prose,
        explained=explained,
        histogram=histogram,
        diff=diff,
        number=words.number,
        size=words.size,
        duration=words.duration,
        percent=words.percent,
        when=words.when,
        ago=words.ago,
        headline=words.headline,
        capital=words.capital,
        sentence=words.sentence,
    )
    made.globals.update(count=amounts.count, version=__version__)
    return made


def histogram(numbers: Sequence[int]) -> Markup:
    """Small bars: an empty bin has none, and one with a single row can be seen."""
    from markupsafe import Markup

    most, wide = max(numbers, default=0), _WIDE / max(1, len(numbers))
    if not most:
        return Markup()
    bars = "".join(
        f'<rect x="{at * wide:.1f}" y="{_HIGH - high:.1f}" width="{wide - 1:.1f}" height="{high:.1f}"/>'
        for at, number in enumerate(numbers)
        if (high := max(1.0, _HIGH * number / most) if number else 0.0)
    )
    told = ", ".join(f"{number:,}" for number in numbers)
    return Markup(  # noqa: S704 - numbers only
        f'<svg width="{_WIDE}" height="{_HIGH}" role="img" aria-label="rows from low to high: {told}">'
        f"<title>{told}</title>{bars}</svg>"
    )


def library() -> Path:
    """The plotting library's JavaScript."""
    import bokeh

    return Path(bokeh.__file__).parent / "server" / "static" / "js" / "bokeh.min.js"


def encoded(drawing: Drawing) -> Any:
    return ready().item(drawing())


def _render(template: str, items: Mapping[str, Drawing], **values: Any) -> str:
    ready()  # says what to install
    values |= {
        "items": sorted(items),
        "style": _ours((HOME / "page.css").read_text(encoding="utf-8")),
        "script": _ours((HOME / "page.js").read_text(encoding="utf-8")),
        "library": _ours(library().read_text(encoding="utf-8")) if items else "",
        "plots": _ours(embedded({name: encoded(drawing) for name, drawing in items.items()})),
    }
    return scene().get_template(template).render(**values)


def _ours(text: str) -> Markup:
    """What stands inside `style` and `script`: our own, the plotting library's, or JSON without a bracket."""
    from markupsafe import Markup

    return Markup(text.replace("</script", "<\\/script"))  # noqa: S704 - nothing of it is the run's


def embedded(data: Any) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def prose(text: object) -> Markup:
    """Words of a finding: `code` in backticks is set as code, everything else is only text."""
    from markupsafe import Markup, escape

    parts = str(text).split("`")
    if len(parts) % 2 == 0:  # a backtick without its partner
        return escape(str(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def explained(page: str) -> Markup:
    """The page of a diagnosis: paragraphs, headings and indented code."""
    from markupsafe import Markup, escape

    blocks = []
    for block in re.split(r"\n\s*\n", page.strip("\n")):
        if block.startswith("## "):
            heading, _newline, rest = block.partition("\n")
            blocks.append(Markup("<h4>{}</h4>").format(heading[3:]))
            block = rest  # noqa: PLW2901 - what is left of it
        if block.startswith("    "):
            blocks.append(Markup("<pre>{}</pre>").format(block))
        elif block.strip():
            blocks.append(Markup("<p>{}</p>").format(prose(" ".join(block.split()))))
    return Markup("\n").join(blocks) if blocks else escape("")


def diff(patch: str) -> Markup:
    from markupsafe import Markup

    kinds = {"+": "added", "-": "removed", "@": "place"}
    lines = [
        Markup('<span class="{}">{}</span>').format(kinds.get(line[:1], "same"), line)
        for line in patch.splitlines()
        if not line.startswith(("---", "+++"))
    ]
    return Markup("").join(lines)  # each is a block of its own
