"""`premortem run train.py --multirun lr=0.1,0.2`: each job of Hydra's is a run of its own, although all are in one process.

All of Hydra's launchers run a job by `hydra.core.utils.run_job`, and take it from there. Each job is a trial (`run/sweep_program.py`).
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from premortem.run.sweep_program import SweepProgram
from premortem.startup.import_hook import ImportHook

MODULE = "hydra.core.utils"


class HydraJobs:
    """Of one run, in its own process."""

    def __init__(self, program: SweepProgram) -> None:
        self._program = program
        self._hook = ImportHook(MODULE, self._arrived)
        self._original: Callable[..., Any] | None = None

    def wait(self) -> None:
        self._hook.wait()

    def leave(self) -> None:
        self._hook.leave()
        if self._original is not None:
            sys.modules[MODULE].run_job = self._original  # type: ignore[attr-defined]
            self._original = None

    def _arrived(self) -> None:
        module: Any = sys.modules[MODULE]
        self._original = original = module.run_job
        signature = inspect.signature(original)

        @functools.wraps(original)
        def run_job(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs)
            task = given.arguments.get("task_function")
            if callable(task) and self._original is not None and self._program.here:
                given.arguments["task_function"] = self._watched(task)
            return original(*given.args, **given.kwargs)

        module.run_job = run_job

    def _watched(self, task: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(task)
        def one(config: Any) -> Any:
            from hydra.core.hydra_config import HydraConfig

            from premortem.run.trial_run import trial

            about = HydraConfig.get()
            if getattr(about.mode, "name", "") != "MULTIRUN":
                return task(config)
            with trial(
                self._program.place,
                job_name(about),
                lambda: settings(about.overrides.task, config),
                self._program.policy,
            ):
                return task(config)

        return one


def job_name(about: Any) -> str:
    return f"{about.job.name}-{Path(about.runtime.output_dir).name}"


def settings(overrides: Any, config: Any) -> dict[str, Any]:
    """What a job was given, as the values that the config has now: `optimizer.lr` → 0.1."""
    from omegaconf import OmegaConf

    names = [
        str(each).partition("=")[0].lstrip("+").partition("@")[0].replace("/", ".") for each in overrides
    ]
    chosen = {name: OmegaConf.select(config, name) for name in names if not name.startswith("~")}
    return {
        name: OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
        for name, value in chosen.items()
    }
