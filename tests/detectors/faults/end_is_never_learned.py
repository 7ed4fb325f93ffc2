"""`pad_token = eos_token`, and labels that are masked where they are that token."""

from dataclasses import replace

from premortem.events import Ends, Event, RowsCompared, Site

SEEN = RowsCompared(step=2, at=Site("train.py", 30), fn="cross_entropy", rows=90)


def run(*ends: Ends | None, ahead: int | None = 1) -> list[Event]:
    return [replace(SEEN, step=n, ends=each, ahead=ahead) for n, each in enumerate(ends)]


def of(width: int, counted: int = 0) -> Ends:
    return Ends(2, width, 40, counted)


EVENTS = run(of(12), of(15), of(12))
HEALTHY = [
    run(of(12), of(15)),
    run(of(12), of(12), of(12)),  # one length
    run(of(12, 8), of(15, 8), of(13, 8)),  # the first one counts
    run(of(12), None, of(15), of(13)),  # a batch whose longest row ends in a word
]
