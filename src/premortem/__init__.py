"""premortem: the post-mortem of your training run, before it dies.

Importing this package never imports torch; using one of the names below that need it does.
"""

from __future__ import annotations

import sys

LOADED_BEFORE = frozenset(sys.modules)  # by Python's own start

from importlib import import_module  # noqa: E402 - the line above comes before all others
from typing import TYPE_CHECKING, Any  # noqa: E402

from premortem.findings import Certainty, Finding, Severity, Where  # noqa: E402

if TYPE_CHECKING:
    from premortem import fit
    from premortem.preflight.memory import check_modules
    from premortem.run.watch import watch
    from premortem.vault.resume import resume, resume_report
    from premortem.vault.retention import Retention
    from premortem.vault.sampler import ResumableLoader, ResumableSampler
    from premortem.vault.vault import Vault

__all__ = [
    "Certainty",
    "Finding",
    "ResumableLoader",
    "ResumableSampler",
    "Retention",
    "Severity",
    "Vault",
    "Where",
    "__version__",
    "check_modules",
    "fit",
    "resume",
    "resume_report",
    "watch",
]

__version__ = "0.1.0"

_LATER = {
    "ResumableLoader": "premortem.vault.sampler",
    "ResumableSampler": "premortem.vault.sampler",
    "Retention": "premortem.vault.retention",
    "Vault": "premortem.vault.vault",
    "check_modules": "premortem.preflight.memory",
    "load_ipython_extension": "premortem.integrations.notebook",  # what `%load_ext premortem` asks for
    "resume": "premortem.vault.resume",
    "resume_report": "premortem.vault.resume",
    "watch": "premortem.run.watch",
}


def __getattr__(name: str) -> Any:
    if name == "fit":  # a module that can be called
        return import_module("premortem.fit")
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_LATER[name]), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        from premortem.errors import MissingExtra

        raise MissingExtra(f"premortem.{name}", "torch") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
