"""Resume with a verdict before the first step: compare everything, say it, and only then load.

Nothing is changed when the checkpoint does not fit, unless `strict=False` asks for what does. Works for checkpoints of
a vault and for anybody's `.pt`, `.pth`, `.ckpt`, `.safetensors` or folder.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from premortem.vault import training_objects
from premortem.vault.opening import opened
from premortem.vault.report import ResumeRefused, ResumeReport
from premortem.vault.resume_plan import Resumption, Settings


def resume(
    path: str | Path,
    *,
    strict: bool = True,
    settings: Settings = "checkpoint",
    rng: bool = True,
    config: Any = None,
    companions: Mapping[str, Any] | None = None,
    quiet: bool = False,
    **given: Any,
) -> ResumeReport:
    """Load anybody's checkpoint into what is given, after comparing it. Raises ResumeRefused when it does not fit."""
    compared = {"rng": rng, "config": config, "companions": companions}
    return _resume(path, given, settings, compared, load=True, strict=strict, quiet=quiet)


def resume_report(
    path: str | Path,
    *,
    settings: Settings = "checkpoint",
    config: Any = None,
    companions: Mapping[str, Any] | None = None,
    quiet: bool = False,
    **given: Any,
) -> ResumeReport:
    """What `resume` would do and say. Changes nothing."""
    compared = {"rng": False, "config": config, "companions": companions}
    return _resume(path, given, settings, compared, load=False, strict=False, quiet=quiet)


def _resume(
    path: str | Path,
    given: Mapping[str, Any],
    settings: Settings,
    compared: dict[str, Any],
    **how: bool,
) -> ResumeReport:
    with opened(Path(path)) as saved:
        resumption = Resumption(saved, training_objects.expand(given), settings=settings)
        resumption.compare(**compared)
        return finish(resumption, **how)


def finish(resumption: Resumption, *, load: bool, strict: bool, quiet: bool) -> ResumeReport:
    """Load what is to be loaded, and say it."""
    report = resumption.report
    if load and strict and not report.ok:
        raise ResumeRefused(report)
    try:
        if load:
            resumption.load()
    finally:
        if not quiet:
            report.show()
    return report
