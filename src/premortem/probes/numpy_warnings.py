"""What numpy warns about: an operation of the script's made NaN or infinity, and at which line.

Warnings are only listened to. Whether and how each is shown is the script's choice, and one that it silences is not heard.
"""

import re
import warnings
from typing import Any

from premortem.events import NonFinite, NonFiniteComputed
from premortem.probes.operation_words import NUMPY_SPELLING
from premortem.probes.session import Session, user_site

_ENCOUNTERED = re.compile(r"(divide by zero|invalid value|overflow) encountered in (?:scalar )?(\w+)")
_OF_NOTHING = re.compile(r"(mean) of empty slice|(std|var)\(\): degrees of freedom", re.IGNORECASE)
_ANSWERS = {"divide by zero": "inf", "invalid value": "nan", "overflow": "inf"}
_MOST = 64  # warnings of one run; by default Python shows each line's only once


class NumpyWarnings:
    def __init__(self, session: Session) -> None:
        self.session = session
        self._heard = 0

    def install(self) -> None:
        # Python's own name for "show this one", which filters, `showwarning` and `catch_warnings` all go through.
        if hasattr(warnings, "_showwarnmsg"):
            self.session.layer(warnings, "_showwarnmsg", self._wrap)

    def _wrap(self, original: Any) -> Any:
        def _showwarnmsg(msg: Any) -> Any:
            if self._heard < _MOST:
                with self.session.looking_at("numpy warnings"):
                    self._hear(str(getattr(msg, "message", "")))
            return original(msg)

        return _showwarnmsg

    def _hear(self, text: str) -> None:
        known, at = born(text), user_site()
        if known is None or at is None:
            return
        self._heard += 1
        op, made = known
        origin = NonFinite(
            step=self.session.step,
            at=at,
            stage="forward",
            value=None,
            op=op,
            detail=f"{op} outside of torch ({text.strip().rstrip('.')})",
            made=made,
            located=True,
            sure=True,
        )
        self.session.emit(NonFiniteComputed(step=self.session.step, at=at, origin=origin))


def born(text: str) -> tuple[str, str] | None:
    """The operation that a warning is about, and what it made; None for other warnings."""
    found = _ENCOUNTERED.search(text)
    if found is not None:
        kind, op = found.groups()
        if op == "cast" and kind != "overflow":
            return None  # NaN was there before, and becomes a whole number
        op = "to" if op == "cast" else NUMPY_SPELLING.get(op, op)
        return op, "-inf" if op.startswith("log") and kind != "invalid value" else _ANSWERS[kind]
    nothing = _OF_NOTHING.search(text)
    return (next(filter(None, nothing.groups())).lower(), "nan") if nothing is not None else None
