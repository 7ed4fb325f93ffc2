"""Regular expressions that are compiled when they are first used: most files need few of them, and a start none."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "split")


class _Later:
    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Only what is not there yet is asked for here: from now on all methods are the compiled ones.
        compiled: Any = re.compile(self._text, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, at the first use."""
    return cast("re.Pattern[AnyStr]", _Later(text, flags))
