"""premortem: the post-mortem of your training run, before it dies.

Importing this package never imports torch; calling `watch` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from premortem.findings import Certainty, Finding, Severity, Where

if TYPE_CHECKING:
    from premortem.watcher import watch

__all__ = ["Certainty", "Finding", "Severity", "Where", "__version__", "watch"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name != "watch":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from premortem.watcher import watch

    return watch


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
