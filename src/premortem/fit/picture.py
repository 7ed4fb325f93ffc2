"""The memory over the course of two steps, as a picture: SVG, written by hand."""

from typing import Any
from xml.sax.saxutils import escape

from premortem.fit.gpus import GIB, Gpu

_ORDER = {
    "parameters": "#4e79a7",
    "buffers": "#9c9ede",
    "optimizer state": "#f28e2b",
    "gradients": "#59a14f",
    "inputs": "#bab0ac",
    "activations": "#76b7b2",
    "temporaries": "#edc948",
    "workspaces": "#e15759",
}
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 960, 420, 70, 40, 70


def svg(base: dict[str, Any], gpu: Gpu) -> str:
    points = base["timeline"]
    room = gpu.memory - gpu.context
    highest = max([sum(point.values()) for point in points] or [1])
    top = max(highest, room) if room < 3 * highest else highest
    top *= 1.05
    across = (_WIDTH - _LEFT - 10) / max(len(points) - 1, 1)

    def x(place: float) -> str:
        return f"{_LEFT + place * across:.1f}"

    def y(count: float) -> str:
        return f"{_TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - count / top):.1f}"

    peak = f"peak {base['allocated'] / GIB:.2f} GiB allocated, {base['reserved'] / GIB:.2f} GiB reserved"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="22" font-size="15">Predicted memory on {escape(gpu.title)}: {peak}</text>',
    ]
    floor = [0.0] * len(points)
    for kind, colour in _ORDER.items():
        if not any(point.get(kind) for point in points):
            continue
        ceiling = [low + point.get(kind, 0) for low, point in zip(floor, points, strict=True)]
        outline = [f"{x(n)},{y(count)}" for n, count in enumerate(ceiling)]
        outline += [f"{x(n)},{y(floor[n])}" for n in reversed(range(len(floor)))]
        parts.append(f'<polygon points="{" ".join(outline)}" fill="{colour}"><title>{kind}</title></polygon>')
        floor = ceiling
    for step in range(5):
        count = top * step / 4
        parts.append(f'<text x="{_LEFT - 6}" y="{y(count)}" text-anchor="end">{count / GIB:.2f} GiB</text>')
    for place, what in base["marks"]:
        line = f'x1="{x(place)}" x2="{x(place)}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"'
        parts.append(
            f'<line {line} stroke="black" stroke-dasharray="2 3"><title>{escape(what)}</title></line>'
        )
    if room < top:
        line = f'x1="{_LEFT}" x2="{_WIDTH - 10}" y1="{y(room)}" y2="{y(room)}"'
        parts.append(f'<line {line} stroke="red" stroke-width="1.5"/>')
        parts.append(
            f'<text x="{_WIDTH - 12}" y="{y(room * 1.01)}" text-anchor="end" fill="red">the card is full</text>'
        )
    for n, (kind, colour) in enumerate(_ORDER.items()):
        left, low = _LEFT + 215 * (n % 4), _HEIGHT - 44 + 20 * (n // 4)
        parts.append(f'<rect x="{left}" y="{low - 10}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{left + 18}" y="{low}">{kind}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
