"""One trial of a sweep, watched from the inside: it begins and ends with a function, and not with the process.

What is found goes to the trial's own folder, where `premortem sweep` reads it with the settings of the trial.
"""

import atexit
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from premortem.errors import Stopped
from premortem.findings import Finding, Severity
from premortem.journal import Journal, claim_folder
from premortem.program.running import Ending
from premortem.ranks.processes import rank_here
from premortem.run.child_run import ChildSupervision, ending_of
from premortem.run.sweep_program import sweep_program
from premortem.run.watcher import Watcher, current
from premortem.settings import shared
from premortem.terminal.console import Console

_BESIDE = (
    "of trials that run at the same time in threads of one process only one is watched, and no other is ended; "
    "processes of their own are all watched (Optuna: n_jobs=1 in each, and one storage)"
)


class TrialEnded(RuntimeError):  # noqa: N818 - reads as what it says
    """premortem ended this trial; the text is the finding."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)


class TrialSupervision(ChildSupervision):
    """All that accompanies one trial."""

    def __init__(self, folder: Path, policy: str) -> None:
        super().__init__(folder, policy, shared(Path.cwd()))

    def _claim_own(self) -> Path:
        rank = rank_here()
        return claim_folder(self._run if rank is None else self._run / f"rank-{rank}")

    @property
    def _command(self) -> list[str]:
        """The program runs all trials: started again it would make others, and put them into the same study."""
        return []

    def _hide_our_frames(self) -> None:
        """The program of the sweep shows tracebacks, not this process."""

    def _end_with_the_process(self) -> None:
        atexit.register(self._over)  # where the function never returns

    def conclude(self, ending: Ending) -> None:
        atexit.unregister(self._over)
        if self.watcher is not None and self.watcher.attachment is not None:
            self.watcher.attachment.leave_behind()
        super().conclude(ending)


class Trial:
    """What can be asked of a trial while it runs."""

    def __init__(self, watcher: Watcher | None) -> None:
        self._watcher = watcher
        self._before = [*watcher.findings] if watcher is not None else []  # found in the trials before it

    @property
    def findings(self) -> list[Finding]:
        """Root causes, errors first."""
        before = {(each.code, each.where) for each in self._before}
        found = self._watcher.findings if self._watcher is not None else []
        return [each for each in found if (each.code, each.where) not in before]

    @property
    def signs(self) -> dict[str, Any]:
        """The early signs as numbers, for the metrics that a scheduler looks at."""
        found = self.findings
        first = next((each for each in found if each.severity is Severity.ERROR), None)
        return {
            "premortem_errors": sum(each.severity is Severity.ERROR for each in found),
            "premortem_warnings": sum(each.severity is Severity.WARNING for each in found),
            "premortem_finding": sentence(first) if first is not None else "",
        }


@contextmanager
def trial(
    folder: Callable[[], Path],
    name: str,
    settings: Callable[[], Mapping[str, Any]],
    policy: str = "strict",
    pruned: tuple[type[BaseException], ...] = (),
) -> Iterator[Trial]:
    """Watches what is inside. Raises TrialEnded where the policy ended it; `pruned` is what the sweep's program raises to end
    a trial. The settings are asked for at the end again: some are chosen on the way.

    Under `premortem run` it is a child of that run, and `--policy observe` ends none. In a block of `premortem.watch`, and on one of
    many ranks, it is a part of that run, gives it the settings and ends with it."""
    with _turn() as mine:
        if not mine:
            yield Trial(None)
            return
        program, outer = sweep_program(), current()
        if program is not None and outer in {None, program.watcher}:
            with program.trial():
                chosen = "observe" if program.policy == "observe" else policy
                yield from _of_its_own(program.place(), name, settings, chosen, pruned)
        elif outer is None:
            yield from _of_its_own(folder(), name, settings, policy, pruned)
        else:
            yield from _a_part(outer, name, settings)


def _of_its_own(
    folder: Path,
    name: str,
    settings: Callable[[], Mapping[str, Any]],
    policy: str,
    pruned: tuple[type[BaseException], ...],
) -> Iterator[Trial]:
    supervision = TrialSupervision(folder, policy)
    supervision.begin_here()
    watcher = supervision.watcher
    journal = watcher.journal if watcher is not None else None
    _describe(journal, name, settings())
    ending = Ending(reason="finished", exit_code=0)
    stopped = False
    try:
        yield Trial(watcher)
    except Stopped as error:
        error.__traceback__ = None  # else whoever keeps the reason keeps the trial's tensors too
        now = _root(watcher)
        message = sentence(now) if now is not None else error.reason
        ending = Ending(reason="stopped", exit_code=error.code, message=message)
        stopped = True
    except pruned:
        ending = Ending(reason="finished", exit_code=0, message="pruned")
        raise
    except BaseException as error:
        ending = ending_of(error)
        raise
    finally:
        _describe(journal, name, settings())
        supervision.conclude(ending)
    if stopped:  # after the last words: what stopped it may be what something else has led to
        reason = _root(watcher)
        raise TrialEnded(sentence(reason) if reason is not None else ending.message)


def _a_part(watcher: Watcher, name: str, settings: Callable[[], Mapping[str, Any]]) -> Iterator[Trial]:
    _describe(watcher.journal, name, settings())
    try:
        yield Trial(watcher)
    finally:
        _describe(watcher.journal, name, settings())


_turns: list[tuple[int, int]] = []  # process and thread of the trials that are watched
_taking = threading.Lock()
_said: list[str] = []


@contextmanager
def _turn() -> Iterator[bool]:
    """Whether this trial can be watched: torch's hooks are the process's, so that of trials in several threads only one is."""
    here = os.getpid(), threading.get_ident()
    with _taking:
        mine = all(each == here for each in _turns if each[0] == here[0])
        if mine:
            _turns.append(here)
    if mine:
        try:
            yield True
        finally:
            with _taking:
                _turns.remove(here)
        return
    from premortem.probes.training_thread import strangers

    if not _said:
        _said.append(_BESIDE)
        Console().problem(_BESIDE)
    strangers.add(here[1])
    try:
        yield False
    finally:
        strangers.discard(here[1])


def _root(watcher: Watcher | None) -> Finding | None:
    """What stopped the trial, or what it follows from."""
    errors = [
        each for each in (watcher.findings if watcher is not None else ()) if each.severity is Severity.ERROR
    ]
    stopping = watcher.stopping if watcher is not None else None
    same = [each for each in errors if stopping is not None and each.code == stopping.code]
    follows = [
        each for each in errors if stopping is not None and stopping.name in each.evidence.get("also", ())
    ]
    return next(iter([*same, *follows, *errors]), stopping)


def _describe(journal: Journal | None, name: str, settings: Mapping[str, Any]) -> None:
    if journal is not None:
        journal.note(trial=name, settings={str(key): plain(value) for key, value in settings.items()})


def sentence(finding: Finding) -> str:
    where = f" ({finding.where})" if finding.where.file else ""
    return f"{finding.code} {finding.name}: {finding.message}{where}"


def plain(value: Any) -> Any:
    """As JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    return value if isinstance(value, (bool, int, float, str)) or value is None else str(value)
