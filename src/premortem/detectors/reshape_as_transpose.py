from math import prod

from premortem.detectors.base import THRICE, Card, Detector, Findings, Severity
from premortem.events import Reshaped


class ReshapeAsTranspose(Detector):
    """`view` or `reshape` swaps dimensions, which only `permute` or `transpose` can do.

    ## Why it matters
    Reshaping keeps the numbers in their order in memory and only draws the borders anew. When the sizes are those of a
    transpose, the shapes fit everywhere but the contents are shuffled: channels hold pieces of rows, samples hold pieces
    of other samples. The network trains on noise that looks like data.

    ## Usual causes
    `x.view(batch, channels, time)` on (batch, time, channels); `image.reshape(3, H, W)` on (H, W, 3); `h.view(batch, -1)`
    on the (layers, batch, hidden) state of an LSTM; `video.reshape(batch * time, channels, ...)` on (batch, channels, time, ...).

    ## What to do
    `x.transpose(1, 2)`, `image.permute(2, 0, 1)`, `h.transpose(0, 1).reshape(batch, -1)`.

    ## When it stays silent
    Regroupings, whose sizes are not just the old ones in another order, and everything libraries do themselves.
    """

    card = Card("PM412", "reshape-as-transpose", "shape", Severity.ERROR).explaining(
        "uninformative-labels",
        "sample-depends-on-batch",
        "rows-treated-differently",
        "updates-too-small",
        "class-sorted-batches",
    )
    listens = (Reshaped,)

    def observe(self, event: Reshaped) -> Findings:
        # A line that also sees sizes of another kind does not transpose: they only met by chance.
        if not self.always(event.at, not event.plain) or self.different(event.at, event.step) < THRICE:
            return
        if not self.once(event.at):
            return
        certain = event.mixes or not regrouping(event.before, event.after)
        order = "" if event.mixes else f"permute{order_of(event.before, event.after)}"
        if order and len(event.before) != len(event.after):
            order += f".reshape{event.after}"
        merged = event.mixes and event.before[0] == event.after[0]
        joined = event.mixes and event.after[0] != event.before[1] == event.after[1]
        what = (
            "one row holds numbers of several samples"
            if event.mixes
            else "the numbers stay in place, only the borders move"
        )
        if merged or joined:
            what = "dimensions are joined that are not neighbours"
        if joined:
            order = f"permute{joined_first(event.before, event.after[0])}.reshape{event.after}"
        elif merged:
            order = f"transpose(1, {event.before.index(event.after[1], 2)}).reshape{event.after}"
        yield self.finding(
            event,
            f"`{event.op}` turns {event.before} into {event.after}: {what}",
            cause="Reshaping does not move numbers. The sizes are those of a transpose, so it fits, but each row now "
            "holds pieces of others.",
            remedy=f"Use {order} instead." if order else "Use transpose(0, 1) first, then reshape.",
            severity=Severity.ERROR if certain else Severity.WARNING,
            op=event.op,
            before=event.before,
            after=event.after,
        )


def regrouping(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Whole rows are joined, or cut into equal parts: that may be intended, if only the last two sizes change."""
    before, after = without_ones(before), without_ones(after)
    if before[:-2] != after[:-2]:
        return False
    old, new = before[-1], after[-1]
    return old % new == 0 or new % old == 0


def order_of(before: tuple[int, ...], after: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that gives these sizes; where sizes of 1 come or go, a reshape follows it."""
    free = list(range(len(before)))
    order = []
    for size in after:
        place = next((i for i in free if before[i] == size), None)
        if place is not None:
            free.remove(place)
            order.append(place)
    return (*order, *free)


def joined_first(before: tuple[int, ...], first: int) -> tuple[int, ...]:
    """The permutation that brings what is joined with the first dimension to its side."""
    places = range(2, len(before))
    start, end = next(
        (start, end)
        for start in places
        for end in range(start + 1, len(before) + 1)
        if before[0] * prod(before[start:end]) == first
    )
    return (0, *range(start, end), *range(1, start), *range(end, len(before)))


def without_ones(sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in sizes if size != 1)
