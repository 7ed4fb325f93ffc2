from __future__ import annotations

from collections.abc import Iterable

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.replicas import named
from premortem.events import CollectiveCall, CollectivesApart, Site
from premortem.findings import Finding, Severity

_BACKWARD = "backward"


class CollectivesOutOfOrder(Detector):
    """Ranks wait for each other in calls that do not belong together.

    ## Why it matters
    A collective ends when all ranks have called it. Ranks that call different ones wait until torch's time-out, which is ten
    or thirty minutes and says nothing about the line; with bad luck the wrong numbers are exchanged instead.

    ## Usual causes
    - `if rank == 0:` around an `all_reduce`, a `barrier` or an evaluation that contains one
    - a condition on the rank's own data, such as skipping a bad batch, around a backward pass or a collective
    - two collectives whose order depends on a dictionary, a set or the order in which files were found

    ## What to do
    The finding names the call of each rank. Make the calls the same everywhere: take the collective out of the condition, or
    decide the condition together first.

    ## When it stays silent
    While ranks go on, inside `Join`, in calls on groups that are not the default one, and in calls that were started with
    `async_op=True` and are waited for later.
    """

    card = Card(code="PM488", name="collectives-out-of-order", family="distributed", severity=Severity.ERROR)
    listens = (CollectivesApart,)

    def observe(self, event: CollectivesApart) -> Iterable[Finding]:
        if len(event.calls) < 2:
            return
        parties: dict[tuple[str, str], list[CollectiveCall]] = {}
        for call in event.calls:
            parties.setdefault((call.name, call.details), []).append(call)
        ordered = sorted(parties.values(), key=lambda calls: (-len(calls), calls[0].rank))
        usual, others = ordered[0], [call for calls in ordered[1:] for call in calls]
        told = " and ".join(_told(calls) for calls in ordered[:3])
        first = others[0]
        yield self.finding(
            event,
            f"the ranks wait for each other in different calls: {told}",
            cause=f"Up to call {event.number - 1} all made the same ones. "
            "A condition that is not the same on all ranks leads to a collective, or past it.",
            remedy="Call the same collectives on every rank, in the same order.",
            at=Site(first.file, first.line) if first.file else None,
            ranks=sorted(call.rank for call in others),
            kind=_BACKWARD if _BACKWARD in {call.name for call in event.calls} else "calls",
            number=event.number,
            calls=[
                {"rank": call.rank, "call": _words(call), "file": call.file, "line": call.line}
                for call in (*usual, *others)
            ][:8],
        )


def _words(call: CollectiveCall) -> str:
    if call.name == _BACKWARD:
        return "a backward pass"
    return f"{call.name} of {call.details}" if call.details else call.name


def _told(calls: list[CollectiveCall]) -> str:
    first = calls[0]
    where = f" ({first.file.replace(chr(92), '/').rpartition('/')[2]}:{first.line})" if first.file else ""
    verb = "is" if len(calls) == 1 else "are"
    return f"{named([call.rank for call in calls])} {verb} in {_words(first)}{where}"
