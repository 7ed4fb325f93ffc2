"""Plots of a page: Bokeh's, whose JavaScript comes with its Python package. Colours of text and grid are the page's."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from bokeh.embed import json_item
from bokeh.layouts import column
from bokeh.models import (
    BoxZoomTool,
    CustomJSHover,
    FactorRange,
    HoverTool,
    NumeralTickFormatter,
    PanTool,
    Range1d,
    ResetTool,
    WheelZoomTool,
)
from bokeh.models.annotations import Span
from bokeh.plotting import figure

from premortem.findings import Severity
from premortem.report.curves import Curve
from premortem.report.finding_view import FindingView
from premortem.report.heatmap import BARE, NOT_FINITE, heat
from premortem.report.story import Mark

__all__ = ["curves", "heat", "item", "memory", "timeline", "window"]

LINES = (
    "#4477aa #cc7744 #339988 #aa5599 #888844 #6677cc #558855 #996666 #bb4477 #3399bb #aa8833 #777777".split()
)
TONES = {Severity.ERROR: "#cc3333", Severity.WARNING: "#c98a00", Severity.INFO: "#7a8694"}
RUG = 0.06  # of the height of a plot
_INSIDE, _BESIDE = 4, 2  # lines whose names fit into the plot; names in a row below it
_NO_NAME = " "


def item(model: Any) -> Any:
    """As the page's own script embeds it."""
    return json_item(model)


def timeline(
    plots: Mapping[str, Mapping[str, Curve]], views: Sequence[FindingView], marks: Sequence[Mark], last: int
) -> Any:
    """One plot under the other, with one x axis for all of them."""
    steps = Range1d(start=0, end=max(last, 1) * 1.01, bounds=(0, max(last, 1) * 1.05))
    drawn = [curves(name, lines, steps, views) for name, lines in plots.items()]
    if marks:
        drawn.append(_marks(marks, steps))
    for plot in drawn[:-1]:
        plot.xaxis.major_label_text_font_size = "0px"
    if drawn:
        drawn[-1].xaxis.axis_label = "step"
        drawn[-1].height += 30
    return column(*drawn, sizing_mode="stretch_width", spacing=6)


def curves(
    title: str,
    lines: Mapping[str, Curve],
    steps: Range1d | None = None,
    views: Sequence[FindingView] = (),
    *,
    height: int = 200,
    x_name: str = "step",
    linear: bool = False,
) -> Any:
    low = min((curve.low for curve in lines.values() if curve.low is not None), default=0.0)
    high = max((curve.high for curve in lines.values() if curve.high is not None), default=1.0)
    logarithmic = not linear and low > 0 and high / low > 50
    plot = _figure(title, height, steps, logarithmic=logarithmic)
    bottom, top = _bounds(low, high, logarithmic=logarithmic)
    if any(curve.gaps for curve in lines.values()):  # room for the rug, under the curve
        bottom = bottom / (top / bottom) ** (2 * RUG) if logarithmic else bottom - 2 * RUG * (top - bottom)
    plot.y_range = Range1d(start=bottom, end=top)
    for place, (name, curve) in enumerate(lines.items()):
        _line(plot, name or _NO_NAME, curve, LINES[place % len(LINES)], legend=len(lines) > 1, x_name=x_name)
        _rug(plot, curve, bottom, top, logarithmic=logarithmic)
    _findings(plot, views, top)
    if len(lines) > 1:
        plot.legend.location = "top_right"
        if len(lines) > _INSIDE:  # it would lie over the curves
            plot.legend.ncols = _BESIDE
            plot.add_layout(plot.legend[0], "below")
        plot.legend.click_policy = "hide"
    return plot


def window(view: FindingView) -> Any:
    """The numbers around a finding."""
    drawn = [curves(name, {"": curve}, views=[view], height=150) for name, curve in view.window.items()]
    return column(*drawn, sizing_mode="stretch_width", spacing=4)


def memory(lines: Mapping[str, Curve]) -> Any:
    """In MiB, or in GiB where it is much."""
    highest = max((curve.high or 0.0 for curve in lines.values()), default=0.0)
    unit, divisor = ("GiB", 2.0**30) if highest >= 2**32 else ("MiB", 2.0**20)
    scaled = {name: Curve(curve.x, [y / divisor for y in curve.y]) for name, curve in lines.items()}
    plot = curves(f"memory in {unit}", scaled, x_name="minute", height=190, linear=True)
    plot.xaxis.axis_label = "minutes"
    return plot


def _figure(title: str, height: int, steps: Range1d | None, *, logarithmic: bool) -> Any:
    zoom = BoxZoomTool(dimensions="width")
    plot: Any = figure(
        height=height,
        sizing_mode="stretch_width",
        title=title,
        y_axis_type="log" if logarithmic else "linear",
        tools=[zoom, PanTool(dimensions="width"), WheelZoomTool(dimensions="width"), ResetTool()],
        active_drag=zoom,
        **BARE,
        min_border_left=64,
    )
    if steps is not None:
        plot.x_range = steps
    plot.toolbar.logo = None
    plot.toolbar.autohide = True
    plot.xaxis.formatter = NumeralTickFormatter(format="0,0.[00]")
    plot.xaxis.ticker.desired_num_ticks = 5
    plot.xgrid.grid_line_alpha = 0
    return plot


def _bounds(low: float, high: float, *, logarithmic: bool) -> tuple[float, float]:
    if logarithmic:
        room = (high / low) ** 0.06
        return low / room, high * room
    room = 0.06 * (high - low) or abs(high) * 0.1 or 1.0
    return low - room, high + room


def _line(plot: Any, name: str, curve: Curve, colour: str, *, legend: bool, x_name: str) -> None:
    x, y = compact(curve.x), compact(curve.y)
    label = {"legend_label": name} if legend else {}
    alpha = 0.45 if curve.middle else 0.8 if legend else 1.0
    drawn = plot.line(x, y, line_color=colour, line_width=1.4, line_alpha=alpha, **label)
    if curve.middle:
        steps, means = zip(*curve.middle, strict=True)
        plot.line(compact(steps), compact(means), line_color=colour, line_width=1.6, **label)
    if len(curve.x) <= 40:
        plot.scatter(x, y, size=4, fill_color=colour, line_color=None, **label)
    tips = [(x_name, "@x{0,0.[00]}"), (name.strip() or plot.title.text, "@y{custom}")]
    digits: dict[str, Any] = {"@y": CustomJSHover(code="return Number(value.toPrecision(6)).toString();")}
    near: Literal["mouse", "vline"] = "mouse" if legend else "vline"
    plot.add_tools(HoverTool(renderers=[drawn], tooltips=tips, formatters=digits, mode=near))


def compact(values: Sequence[float]) -> Any:
    """In four bytes each, where that is exact enough for a plot: half of a page is numbers."""
    array = np.array(values, dtype=np.float64)
    known = array[np.isfinite(array)]
    if (
        known.size == array.size
        and known.size
        and (known == np.round(known)).all()
        and np.abs(known).max() < 2**31
    ):
        return array.astype(np.int32)
    fits = not known.size or np.abs(known).max() < 1e37
    return array.astype(np.float32) if fits else array


def _rug(plot: Any, curve: Curve, bottom: float, top: float, *, logarithmic: bool) -> None:
    """Where the series is not finite, at the foot of the plot: hundreds of such steps must not cover the rest."""
    if not curve.gaps:
        return
    foot = bottom * (top / bottom) ** RUG if logarithmic else bottom + RUG * (top - bottom)
    data = {
        "left": [gap.first - 0.5 for gap in curve.gaps],
        "right": [gap.last + 0.5 for gap in curve.gaps],
        "bottom": [bottom for _ in curve.gaps],
        "top": [foot for _ in curve.gaps],
        "what": [gap.what.replace("nan", "NaN") for gap in curve.gaps],
        "steps": [
            f"{gap.first:,}" if gap.first == gap.last else f"{gap.first:,} to {gap.last:,}"
            for gap in curve.gaps
        ],
    }
    names = ["left", "right", "bottom", "top"]
    drawn = plot.quad(
        **{name: name for name in names},
        source=data,
        fill_color=NOT_FINITE,
        fill_alpha=0.8,
        line_color=NOT_FINITE,
        line_alpha=0.8,
    )
    plot.add_tools(HoverTool(renderers=[drawn], tooltips=[("not finite", "@what"), ("step", "@steps")]))


def _findings(plot: Any, views: Sequence[FindingView], top: float) -> None:
    if not views:
        return
    for each in views[:60]:
        finding = each.finding
        plot.add_layout(
            Span(
                location=finding.step,
                dimension="height",
                line_color=TONES[finding.severity],
                line_width=1.2,
                line_dash="solid" if finding.severity is Severity.ERROR else "dashed",
                line_alpha=0.9,
            )
        )
    data = {
        "x": [each.finding.step for each in views[:60]],
        "y": [top for _ in views[:60]],
        "name": [f"{each.finding.code} {each.finding.name}" for each in views[:60]],
        "colour": [TONES[each.finding.severity] for each in views[:60]],
    }
    drawn = plot.scatter(
        "x", "y", source=data, marker="inverted_triangle", size=11, color="colour", level="overlay"
    )
    plot.add_tools(HoverTool(renderers=[drawn], tooltips=[("step", "@x"), ("found", "@name")]))


def _marks(marks: Sequence[Mark], steps: Range1d) -> Any:
    kinds = list(dict.fromkeys(mark.what.partition(" ")[0] for mark in marks))
    rows = {"end": "epochs", "an": "epochs", "evaluation,": "evaluated", "saved": "saved", "step": "refused"}
    named = {kind: rows.get(kind, kind) for kind in kinds}
    places = list(dict.fromkeys(named.values()))
    plot = figure(
        height=24 * len(places) + 40,
        sizing_mode="stretch_width",
        x_range=steps,
        y_range=FactorRange(factors=list(reversed(places))),
        tools=[],
        toolbar_location=None,
        **BARE,
        min_border_left=64,
    )
    data = {
        "x": [mark.step for mark in marks],
        "y": [named[mark.what.partition(" ")[0]] for mark in marks],
        "what": [mark.what for mark in marks],
        "colour": [NOT_FINITE if mark.what == "step refused" else "#7a8694" for mark in marks],
    }
    drawn = plot.scatter(
        "x",
        "y",
        source=data,
        marker="dash",
        angle=math.pi / 2,
        size=12,
        color="colour",
        line_width=1.5,
        alpha=0.8,
    )
    plot.add_tools(HoverTool(renderers=[drawn], tooltips=[("step", "@x{0,0}"), ("", "@what")]))
    plot.xaxis.formatter = NumeralTickFormatter(format="0,0")
    plot.grid.grid_line_alpha = 0
    return plot
