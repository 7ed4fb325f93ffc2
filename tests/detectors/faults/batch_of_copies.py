"""`[row] * 8`, for each of the four rows of a batch."""

from dataclasses import replace

from premortem.events import Event, RowsCompared, Site

SEEN = RowsCompared(step=2, at=Site("train.py", 30), fn="mse_loss", rows=32)


def run(*copies: tuple[int, ...] | None) -> list[Event]:
    return [replace(SEEN, step=n, copies=marks) for n, marks in enumerate(copies)]


EVENTS = run((1, 2, 3, 4), None, (5, 6, 7, 8), (9, 10, 11, 12))
ONE_ROW = run((1,), (2,), (3,))
HEALTHY = [
    run((1, 2), (3, 4)),  # too few batches
    run((1, 2), (3, 4), (1, 5), (6, 7)),  # a small set, drawn with replacement
    run(*4 * [(1, 2)]),  # one batch, on purpose
    run((1, 2), (), (3, 4), (5, 6), (7, 8)),
    run(*4 * [None]),
]
