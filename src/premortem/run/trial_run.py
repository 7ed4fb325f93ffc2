"""One trial of a sweep, watched from the inside: it begins and ends with a function, and not with the process.

What is found goes to the trial's own folder, where `premortem sweep` reads it with the settings of the trial.
"""

import atexit
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
from premortem.run.watcher import current
from premortem.settings import shared


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

    def _hide_our_frames(self) -> None:
        """The program of the sweep shows tracebacks, not this process."""

    def _end_with_the_process(self) -> None:
        atexit.register(self._over)  # where the function never returns

    def conclude(self, ending: Ending) -> None:
        atexit.unregister(self._over)
        super().conclude(ending)


class Trial:
    """What can be asked of a trial while it runs."""

    def __init__(self, supervision: TrialSupervision | None) -> None:
        self._supervision = supervision

    @property
    def findings(self) -> list[Finding]:
        """Root causes, errors first."""
        watcher = self._supervision.watcher if self._supervision is not None else current()
        return watcher.findings if watcher is not None else []

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

    Where the process is watched already (`premortem run` in front of the sweep), that run gets the settings, and ends by its
    own policy."""
    outer = current()
    supervision = None
    if outer is None:
        supervision = TrialSupervision(folder(), policy)
        supervision.begin_here()
    watcher = outer if supervision is None else supervision.watcher
    journal = watcher.journal if watcher is not None else None
    _describe(journal, name, settings())
    ending = Ending(reason="finished", exit_code=0)
    try:
        yield Trial(supervision)
    except Stopped as error:
        finding = watcher.stopping if watcher is not None else None
        reason = sentence(finding) if finding is not None else error.reason
        ending = Ending(reason="stopped", exit_code=error.code, message=reason)
        raise TrialEnded(reason) from None
    except pruned:
        ending = Ending(reason="finished", exit_code=0, message="pruned")
        raise
    except BaseException as error:
        ending = ending_of(error)
        raise
    finally:
        _describe(journal, name, settings())
        if supervision is not None:
            supervision.conclude(ending)


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
