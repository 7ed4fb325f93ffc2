"""Ray: `Tuner(watched(train), ...)`, and `RunConfig(callbacks=[Premortem()])` for Ray Train.

On the machine of the driver `premortem run driver.py` watches the workers too, without any of this. On a cluster the workers of other
machines are reached only from here, and the run names the machines where nothing was looked at (`run/ray_cluster.py`).
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from premortem.errors import MissingExtra
from premortem.files.findings_file import FindingsFile
from premortem.journal import default_folder
from premortem.ranks import descendants, processes
from premortem.run.sweep_program import sweep_program
from premortem.run.trial_run import Trial, trial
from premortem.settings import shared
from premortem.startup.children import adopt
from premortem.terminal.console import Console

try:
    import ray
    from ray import tune
    from ray.exceptions import RayError
    from ray.train.v2._internal.execution.callback import ControllerCallback, WorkerGroupCallback
except ImportError as error:
    raise MissingExtra("premortem.integrations.ray", "ray") from error

PATIENCE = 30.0  # seconds for a worker to say its last words

_program = sweep_program()
if _program is not None:
    _program.has_the_door()


# --- Tune: each trial is a run -----------------------------------------------------------------


def watched(
    train: Callable[..., Any], *, policy: str = "strict", folder: Path | str | None = None
) -> Callable[..., Any]:
    """The same training function, each trial watched as a run of its own.

    A trial with an error ends at that step, and the finding is its error. Until then each `tune.report` also has
    `premortem_errors`, `premortem_warnings` and `premortem_finding`, which a scheduler, or `StopBroken`, can use.
    `policy="observe"` ends none. The run is kept in the trial's own folder, or in `folder`/TRIAL."""
    _from_inside()

    @functools.wraps(train)
    def one(*args: Any, **kwargs: Any) -> Any:
        name = tune.get_context().get_trial_name() or "trial"
        config = args[0] if args and isinstance(args[0], Mapping) else kwargs.get("config", {})
        with (
            trial(lambda: _place(folder, name), name, lambda: config, policy) as running,
            _reporting(running),
        ):
            return train(*args, **kwargs)

    return one


def _from_inside() -> None:
    """`premortem run` in front of the driver finds none of it below its own folder."""
    program = sweep_program()
    if program is not None:
        program.keeps_elsewhere(
            "this process trained nothing; what Ray's workers trained is kept where premortem.integrations.ray puts it"
        )


def _place(folder: Path | str | None, name: str) -> Path:
    if folder is not None:
        return Path(folder) / name
    own = tune.get_context().get_trial_dir()
    if own and "://" not in own and Path(own).parent.is_dir():
        return Path(own) / "premortem"
    return default_folder(name)


@contextmanager
def _reporting(running: Trial) -> Iterator[None]:
    """What the trial reports has the early signs too."""
    original = tune.report

    @functools.wraps(original)
    def report(metrics: dict[str, Any], **kwargs: Any) -> Any:
        return original({**metrics, **running.signs}, **kwargs)

    tune.report = report
    try:
        yield
    finally:
        tune.report = original


class StopBroken(tune.Stopper):  # type: ignore[misc, unused-ignore]  # its base is not typed everywhere
    """Ends a trial at its first report after an error was found: `RunConfig(stop=StopBroken())`, for trials that are
    `watched(train, policy="observe")`."""

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        return int(result.get("premortem_errors") or 0) > 0

    def stop_all(self) -> bool:
        return False


# --- Train: each worker is a rank of one run -----------------------------------------------------


class Premortem(WorkerGroupCallback, ControllerCallback):  # type: ignore[misc, unused-ignore]  # not typed everywhere
    """Watches every worker as a rank of one run: `TorchTrainer(..., run_config=RunConfig(callbacks=[Premortem()]))`.

    `folder` is where all workers can write; without one it is in the run's own storage, where that is a folder."""

    def __init__(self, policy: str = "protect", folder: Path | str | None = None) -> None:
        _from_inside()
        self._policy = policy
        self._folder = Path(folder) if folder is not None else None
        self._shown: set[tuple[str, Any]] = set()
        self._waiting: set[tuple[str, Any]] = set()
        self._read: list[processes.Report] = []
        self._group: Any = None  # of workers that are watched

    def after_worker_group_start(self, worker_group: Any) -> None:
        self._group = worker_group
        folder = self._choose(worker_group)
        worker_group.execute(_begin, descendants.order(folder, self._policy, shared(Path.cwd()).to_json()))

    def after_worker_group_poll_status(self, worker_group_status: Any) -> None:
        statuses = worker_group_status.worker_statuses.values()
        if statuses and not any(status.running for status in statuses):
            self._end_workers()
        self._show()

    def before_worker_group_shutdown(self, worker_group: Any) -> None:
        self._end_workers()
        self._show(complete=True)

    def after_controller_finish(self, result: Any) -> None:
        self._show(complete=True)
        now = self._last_attempt()
        unwatched = sorted(self._folder.glob("unwatched-*.txt")) if self._folder is not None else []
        missed = [gap for run, _ in now for gap in (run.get("watched") or {}).get("missed") or ()]
        missed += [f"a worker: {path.read_text(encoding='utf-8')}" for path in unwatched]
        Console().summary(
            processes.union(self._read),
            descendants.steps(0, now),
            self._folder,
            descendants.stopped(now) is not None,
            missed=list(dict.fromkeys(missed)),
        )

    def _end_workers(self) -> None:
        """Their last words, while they can still say them. One that is gone has written what it found."""
        group, self._group = self._group, None
        for worker in group.get_workers() if group is not None else ():
            with suppress(RayError):
                ray.get(worker.execute_async(_end), timeout=PATIENCE)

    def _choose(self, worker_group: Any) -> Path:
        if self._folder is None:
            context = getattr(worker_group, "_storage_context", None)
            kept = str(getattr(context, "experiment_fs_path", "") or "")
            local = "Local" in type(getattr(context, "storage_filesystem", None)).__name__
            self._folder = Path(kept) / "premortem" if kept and local else default_folder("ray-train")
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder

    def _show(self, *, complete: bool = False) -> None:
        """What the workers have found, as far as it was not shown; all of it in one file. The others have until the next look
        to find it too, so that it is shown with all ranks that have it."""
        if self._folder is None:
            return
        reports = sorted(processes.read(self._folder, *descendants.KINDS), key=_by_rank)
        if reports == self._read and not self._waiting:
            return
        news, self._read = reports != self._read, reports
        findings = processes.union(reports)
        waited, self._waiting = self._waiting, set()
        for finding in findings:
            mark = finding.code, finding.where
            if mark in self._shown:
                continue
            if complete or mark in waited:
                self._shown.add(mark)
                Console().finding(finding)
            else:
                self._waiting.add(mark)
        if news and reports:
            FindingsFile(self._folder / processes.FILE, Console().problem).write(self._record(), findings)

    def _last_attempt(self) -> list[processes.Report]:
        """Ray starts all workers again when one has failed."""
        return list({run.get("rank"): (run, findings) for run, findings in self._read}.values())

    def _record(self) -> dict[str, Any]:
        now = self._last_attempt()
        shown = {name: value for name, value in now[0][0].items() if name not in {"rank", "child", "pid"}}
        return {
            **shown,
            "started": min(str(run.get("started")) for run, _ in self._read),
            "steps": descendants.steps(0, now),
            "exit_code": processes.exit_code([run for run, _ in now]),
            "folder": str(self._folder),
            "restarts": max(Counter(run.get("rank") for run, _ in self._read).values()) - 1,
            "ranks": [descendants.brief(run) for run, _ in now],
        }


def _by_rank(report: processes.Report) -> tuple[int, str]:
    return report[0].get("rank") or 0, str(report[0].get("started"))


def _begin(order: str) -> None:
    """In a worker: it is watched from the first optimizer on."""
    adopt(order)


def _end() -> None:
    """In a worker: its last words, while it still can say them."""
    from premortem.run.child_run import conclude

    conclude()
