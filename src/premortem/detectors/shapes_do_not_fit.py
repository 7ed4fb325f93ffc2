"""PM415 shapes-do-not-fit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.slips import slip, told, way
from premortem.events import Event, RunEnded, ShapesMet
from premortem.findings import Finding, Severity

_ERRORS = frozenset({"RuntimeError", "ValueError", "IndexError"})
# What a backbone that cuts images into patches or windows says, in its own words; it may also be an assertion.
_MULTIPLE = re.compile(
    r"\b(height|width|size|length|resolution|dimensions?|shape)\b.{0,80}"
    r"\b(multiple of|divisible by|divided by)\b\D{0,40}(\d+)?",
    re.DOTALL | re.IGNORECASE,
)
_PATTERNS = re.compile(
    r"shapes cannot be multiplied|size mismatch|must match the size of tensor|is invalid for input of size"
    r"|Sizes of tensors must match|to match target batch_size|[Ee]xpected .{0,80}(channels|dimensions?|-D|[0-9]D)\b"
    r"|Dimension out of range|must (have|be) the same (size|shape|as input size)|target size .{0,60}input size|not broadcastable"
    r"|view size is not compatible|doesn't match the broadcast shape|input\.size\(-1\) must be equal"
)


class ShapesDoNotFit(Detector):
    """The run ended because two shapes do not fit together.

    ## Why it matters
    It often happens late: in the last, smaller batch of an epoch, at the first evaluation, with the first long sequence.

    ## Usual causes
    A `squeeze()` that also removes a batch of one; a fixed size in `view`; a dimension swapped by `permute`; another image
    size in evaluation; channels last where channels first are expected.

    ## What to do
    The last line of your own code is named, with the shapes that meet there and the way they took from the model's input,
    layer by layer. Where the likely slip can be told, its line is named instead. Use `squeeze(1)` and `flatten(1)` rather than
    `squeeze()` and `view` with a fixed batch size, and `drop_last=True` where a small batch has no place.
    """

    card = Card(code="PM415", name="shapes-do-not-fit", family="shape", severity=Severity.ERROR)
    listens = (ShapesMet, RunEnded)

    def __init__(self) -> None:
        self._met: ShapesMet | None = None

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, ShapesMet):
            self._met = event
        if not isinstance(event, RunEnded) or event.reason != "crashed":
            return
        if (
            event.error in _ERRORS | {"AssertionError"}
            and self._met is not None
            and self._met.failed is not None
        ):
            if multiple := _MULTIPLE.search(event.message):
                yield self._not_a_multiple(event, self._met, multiple[3])
                return
        if event.error not in _ERRORS:
            return
        if _PATTERNS.search(event.message):
            first = event.message.strip().splitlines()[0][:200]
            met = self._met or ShapesMet()
            likely = slip(met)
            yield self.finding(
                event,
                f"the run ended after {event.step} steps: {first}",
                cause=(likely.cause if likely else "Two tensors met whose shapes do not fit.")
                + way(met)
                + (
                    " It went well before: a batch of another size is the usual reason."
                    if event.step > 1 and likely is None
                    else ""
                ),
                remedy=likely.remedy
                if likely
                else "Look at the shapes that meet at this line; name dimensions in squeeze(dim) and flatten(1).",
                at=likely.at if likely else None,
                module=met.failed.name if met.failed else None,
                error=event.error,
                trail=told(met) or None,
                shapes={name: str(shape) for name, shape in met.names} or None,
            )

    def _not_a_multiple(self, event: RunEnded, met: ShapesMet, number: str | None) -> Finding:
        first = event.message.strip().splitlines()[0][:200]
        wanted = f"multiples of {number}" if number else "multiples of a size of its own"
        return self.finding(
            event,
            f"the run ended after {event.step} steps: {first}",
            cause=f"This layer takes only {wanted}, and the input was padded or cropped to something else."
            + way(met),
            remedy="Pad to the least common multiple of what all layers need (14 and 32: 224), and cut the padding off "
            "again; `premortem.parts` has a helper for it.",
            module=met.failed.name if met.failed else None,
            error=event.error,
            trail=told(met) or None,
        )
