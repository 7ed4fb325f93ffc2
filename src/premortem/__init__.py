"""premortem: the post-mortem of your training run, before it dies.

Importing this package never imports torch; calling `watch` or `fit` does.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from premortem.findings import Certainty, Finding, Severity, Where

if TYPE_CHECKING:
    from premortem import fit
    from premortem.watcher import watch

__all__ = ["Certainty", "Finding", "Severity", "Where", "__version__", "fit", "watch"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "watch":
        from premortem.watcher import watch

        return watch
    if name == "fit":
        return importlib.import_module("premortem.fit")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
