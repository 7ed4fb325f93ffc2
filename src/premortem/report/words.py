"""Numbers, sizes and times as a person writes them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from premortem.amounts import scaled

ITEMS = 6  # of a list or a mapping in a table
LONG = 400  # characters of one value


def number(value: float | None) -> str:
    """Four digits; NaN and the infinities by their names."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "−∞"
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e9 else f"{value:.4g}"


def count(amount: int, noun: str, plural: str = "") -> str:
    return f"{amount:,} {noun if amount == 1 else plural or noun + 's'}"


def size(amount: float | None) -> str:
    if amount is None or not math.isfinite(amount):
        return "–"
    number, unit = scaled(amount, "GiB")
    if unit == "bytes":
        return f"{number:.0f} B"
    return f"{number:.0f} {unit}" if abs(number) >= 100 else f"{number:.1f} {unit}"


def duration(seconds: float | None) -> str:
    if seconds is None or not math.isfinite(seconds):
        return "–"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 or share == 0 else "< 1 %"


def when(stamp: object) -> str:
    """An ISO time without fractions of a second and the zone."""
    return str(stamp)[:19].replace("T", " ") + " UTC" if stamp else "–"


def value(thing: Any) -> str:
    """Any evidence in one line."""
    if isinstance(thing, bool) or thing is None:
        return {True: "yes", False: "no", None: "–"}[thing]
    if isinstance(thing, float):
        return number(thing)
    if isinstance(thing, int):
        return f"{thing:,}" if abs(thing) >= 10_000 else str(thing)
    if isinstance(thing, Mapping):
        return _joined([f"{key}: {value(item)}" for key, item in thing.items()])
    if isinstance(thing, (list, tuple)):
        return _joined([value(item) for item in thing])
    text = str(thing)
    if text in {"nan", "inf", "-inf"}:
        return number(float(text))
    return text if len(text) <= LONG else f"{text[:LONG]}…"


def _joined(items: list[str]) -> str:
    more = len(items) - ITEMS
    return ", ".join(items[:ITEMS] + ([f"and {more:,} more"] if more > 0 else []))


def sentence(text: str) -> str:
    """Ends with a full stop."""
    text = text.strip()
    return text if not text or text[-1] in ".?!…" else f"{text}."


def capital(text: str) -> str:
    """Begins with a capital letter, unless it begins with code."""
    return text[:1].upper() + text[1:] if text[:1].islower() else text
