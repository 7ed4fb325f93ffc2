from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.detectors.shared.replicas import named
from premortem.events import CollectiveCall, CollectivesApart, Site

_BACKWARD = "backward"


class CollectivesOutOfOrder(Detector):
    """Ranks wait for each other in calls that do not belong together.

    ## Why it matters
    A collective ends when all ranks have called it. Ranks that call different ones wait until torch's time-out, which is ten
    or thirty minutes and does not name the line; in the worst case they exchange the wrong numbers instead.

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

    card = Card("PM488", "collectives-out-of-order", "distributed", Severity.ERROR)
    listens = (CollectivesApart,)

    def observe(self, event: CollectivesApart) -> Findings:
        if len(event.calls) < 2:
            return
        parties: dict[tuple[str, str], list[CollectiveCall]] = {}
        for call in event.calls:
            parties.setdefault((call.name, call.details), []).append(call)
        ordered = sorted(parties.values(), key=lambda calls: (-len(calls), calls[0].rank))
        usual, others = ordered[0], [call for calls in ordered[1:] for call in calls]
        first = others[0]
        yield self.finding(
            event,
            f"the ranks wait for each other in different calls: {' and '.join(map(_who, ordered[:3]))}",
            cause=f"Up to call {event.number - 1} all ranks made the same calls. A condition that differs between ranks then "
            "led some of them to a collective, or past it.",
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


def _who(calls: list[CollectiveCall]) -> str:
    first = calls[0]
    where = f" ({first.file.replace(chr(92), '/').rpartition('/')[2]}:{first.line})" if first.file else ""
    verb = "is" if len(calls) == 1 else "are"
    return f"{named([call.rank for call in calls])} {verb} in {_words(first)}{where}"
