"""Layers over time as a picture: a row for each layer, a column for each audit."""

import math
from typing import Any

import numpy as np
from bokeh.models import (
    BoxZoomTool,
    CustomJSHover,
    FixedTicker,
    HoverTool,
    LinearColorMapper,
    Range1d,
    ResetTool,
)
from bokeh.models.annotations import ColorBar
from bokeh.palettes import Cividis256
from bokeh.plotting import figure

from premortem.report.layers import Heat

NOT_FINITE = "#cc3333"
# Nothing of a plot's own around the data: the page has its colours.
BARE: dict[str, Any] = dict.fromkeys(("background_fill_alpha", "border_fill_alpha", "outline_line_alpha"), 0)
_BEYOND = 1e30  # stands for what is not finite


def heat(heat: Heat) -> Any:
    """Layers from top to bottom in the order they are met; a column for each audit."""
    logarithmic = heat.what != "dead"
    cells = np.array([[_cell(value, logarithmic=logarithmic) for value in row] for row in heat.cells])
    known = cells[np.isfinite(cells) & (cells < _BEYOND)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    low, high = (0.0, 1.001) if heat.what == "dead" else (low, high + 0.001)
    mapper = LinearColorMapper(
        palette=list(Cividis256),
        low=low,
        high=high,
        high_color=NOT_FINITE,
        nan_color="rgba(128,128,128,0.12)",
    )
    rows, columns = cells.shape
    plot: Any = figure(
        height=max(110, 14 * rows + 64),
        sizing_mode="stretch_width",
        x_range=Range1d(start=0, end=columns),
        y_range=Range1d(start=rows, end=0),
        tools=[ResetTool(), BoxZoomTool(dimensions="width")],
        toolbar_location=None,
        **BARE,
    )
    picture = plot.image(
        image=[cells.astype(np.float32)], x=0, y=0, dw=columns, dh=rows, color_mapper=mapper, level="image"
    )
    ticks = sorted({round(place * (columns - 1) / 7) for place in range(8)})
    plot.xaxis.ticker = FixedTicker(ticks=[tick + 0.5 for tick in ticks])
    plot.xaxis.major_label_overrides = {tick + 0.5: f"{heat.steps[tick]:,}" for tick in ticks}
    plot.xaxis.axis_label = "step of the audit"
    plot.yaxis.ticker = FixedTicker(ticks=[row + 0.5 for row in range(rows)])
    plot.yaxis.major_label_overrides = {row + 0.5: _cut(name) for row, name in enumerate(heat.layers)}
    plot.grid.visible = False
    plot.add_layout(ColorBar(color_mapper=mapper, width=8, padding=6, background_fill_alpha=0), "right")
    if logarithmic:
        plot.right[0].title = "log₁₀"
    plot.add_tools(_heat_hover(picture, heat, logarithmic=logarithmic))
    return plot


def _heat_hover(picture: Any, heat: Heat, *, logarithmic: bool) -> HoverTool:
    place = (
        "const i = Math.max(0, Math.min(names.length - 1, Math.floor(special_vars.{axis}))); return names[i];"
    )
    shown = (
        "if (value > 1e29) return 'not finite'; if (isNaN(value)) return 'not measured'; "
        f"return {'Math.pow(10, value)' if logarithmic else 'value'}.toPrecision(3);"
    )
    return HoverTool(
        renderers=[picture],
        tooltips=[("layer", "$y{custom}"), ("step", "$x{custom}"), (heat.title.lower(), "@image{custom}")],
        formatters={
            "$y": CustomJSHover(args={"names": heat.layers}, code=place.replace("{axis}", "y")),
            "$x": CustomJSHover(
                args={"names": [str(s) for s in heat.steps]}, code=place.replace("{axis}", "x")
            ),
            "@image": CustomJSHover(code=shown),
        },
    )


def _cell(value: float | None, *, logarithmic: bool) -> float:
    if value is None:
        return math.nan
    if not math.isfinite(value):
        return _BEYOND
    if not logarithmic:
        return value
    return math.log10(value) if value > 0 else -12.0


def _cut(name: str) -> str:
    return name if len(name) <= 26 else f"…{name[-25:]}"
