"""Hydra: `@watched` below `@hydra.main(...)`: each job of a multirun is a run of its own.

Hydra's own launcher runs all jobs in one process. `premortem run` tells them apart without this (`run/hydra_jobs.py`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from premortem.errors import MissingExtra
from premortem.run.hydra_jobs import job_name, settings
from premortem.run.trial_run import trial

try:
    from hydra.core.hydra_config import HydraConfig
except ImportError as error:
    raise MissingExtra("premortem.integrations.hydra", "hydra") from error


def watched(task: Callable[[Any], Any], *, policy: str = "strict") -> Callable[[Any], Any]:
    """The same function, each job watched as a run of its own, which is kept in the job's folder. A job with an error ends at that
    step, and the finding is its error; Hydra goes on with the others. `policy="observe"` ends none."""

    @functools.wraps(task)
    def one(config: Any) -> Any:
        about = HydraConfig.get()
        with trial(
            lambda: Path(about.runtime.output_dir) / "premortem",
            job_name(about),
            lambda: settings(about.overrides.task, config),
            policy,
        ):
            return task(config)

    return one
