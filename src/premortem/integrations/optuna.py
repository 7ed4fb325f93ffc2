"""Optuna: `study.optimize(watched(objective), n_trials=100)`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from premortem.errors import MissingExtra
from premortem.journal import default_folder
from premortem.run.trial_run import Trial, TrialEnded, trial

try:
    import optuna
except ImportError as error:
    raise MissingExtra("premortem.integrations.optuna", "optuna") from error

UNNAMED = "no-name-"  # how Optuna begins the name of a study that was given none; 36 letters of chance follow


def watched(
    objective: Callable[[optuna.Trial], Any], *, policy: str = "strict", folder: Path | str | None = None
) -> Callable[[optuna.Trial], Any]:
    """The same objective, each trial watched as a run of its own. A trial with an error is pruned, with the finding as its
    reason; `premortem sweep` compares them all. `policy="observe"` ends none."""

    @functools.wraps(objective)
    def one(of: optuna.Trial) -> Any:
        with watch(of, policy=policy, folder=folder):
            return objective(of)

    return one


@contextmanager
def watch(of: optuna.Trial, *, policy: str = "strict", folder: Path | str | None = None) -> Iterator[Trial]:
    """The same for a part of an objective. Raises `optuna.TrialPruned` with the finding."""
    named = of.study.study_name
    name = f"{'trial' if named.startswith(UNNAMED) else named}-{of.number}"

    def place() -> Path:
        return Path(folder) / name if folder is not None else default_folder(name)

    try:
        with trial(place, name, lambda: of.params, policy, pruned=(optuna.TrialPruned,)) as running:
            try:
                yield running
            finally:
                of.set_user_attr("premortem", running.signs["premortem_finding"])
    except TrialEnded as ended:
        of.set_user_attr("premortem", str(ended))
        raise optuna.TrialPruned(str(ended)) from None
