"""Numbers, sizes and times as a person writes them."""

import math
import re
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from premortem import amounts

ITEMS = 6  # of a list or a mapping in a table
LONG = 400  # characters of one value


def number(value: float | None) -> str:
    """Four digits; NaN and the infinities by their names."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "−∞"
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e9 else f"{value:.4g}"


def size(amount: float | None) -> str:
    return "–" if amount is None or not math.isfinite(amount) else amounts.size(amount)


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


def headline(text: str) -> str:
    """The first clause of a message as a sentence, without what stands in parentheses after a word: the details follow below it."""
    kept, code = "", False
    asides: list[bool] = []  # of each parenthesis that is open: whether it is left out
    for place, char in enumerate(text.strip()):
        code ^= char == "`" and not any(asides)
        if char == "(" and not code:
            asides.append(any(asides) or (not asides and kept.endswith(" ")))
        elif char == ";" and not code and not asides and text.strip()[place + 1 : place + 2] == " ":
            break
        if not any(asides):
            kept += char
        if char == ")" and not code and asides:
            asides.pop()
    kept = re.sub(r" +(?=[ .,:;]|$)", "", kept)
    return sentence(text if asides or not kept else kept)


def apart(left: float | None, right: float | None) -> tuple[str, str]:
    """Two numbers with as many digits as show that they differ, four at least."""
    if left is None or right is None or not (math.isfinite(left) and math.isfinite(right)):
        return _measured(left), _measured(right)
    for digits in range(4, 17):
        shown = f"{left:.{digits}g}", f"{right:.{digits}g}"
        if shown[0] != shown[1]:
            return shown
    return str(left), str(right)


def _measured(value: float | None) -> str:
    return "not measured" if value is None else number(value)


def ago(stamp: object, now: float | None = None) -> str:
    """How long an ISO time has passed: `5 min ago`. The day itself where that is longer than a month."""
    try:
        moment = datetime.fromisoformat(str(stamp)).timestamp()
    except ValueError:
        return "–"
    passed = max(0.0, (time.time() if now is None else now) - moment)
    for length, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if passed >= length:
            return f"{passed / length:.0f} {unit} ago" if passed < 30 * 86400 else str(stamp)[:10]
    return "just now"


def capital(text: str) -> str:
    """Begins with a capital letter, unless it begins with code."""
    return text[:1].upper() + text[1:] if text[:1].islower() else text
