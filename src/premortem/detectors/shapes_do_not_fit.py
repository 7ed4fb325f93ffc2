import re
from typing import Any

from premortem.detectors.base import Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.slips import expects, slip, trail, way
from premortem.events import Event, RunEnded, ShapesMet

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
    It often happens late: in the last, smaller batch of an epoch, at the first evaluation, or with the first long sequence.

    ## Usual causes
    A `squeeze()` that also removes a batch of one; a fixed size in `view`; a dimension swapped by `permute`; another image
    size in evaluation; channels last where channels first are expected.

    ## What to do
    The last line of your own code is named, with the shapes that meet there and the way they took from the model's input,
    layer by layer. Where the likely mistake is known, its line is named instead. Use `squeeze(1)` and `flatten(1)` rather than
    `squeeze()` and `view` with a fixed batch size, and `drop_last=True` where a small batch has no place.
    """

    card = Card("PM415", "shapes-do-not-fit", "shape", Severity.ERROR)
    listens = (ShapesMet, RunEnded)

    def __init__(self) -> None:
        self._met: ShapesMet | None = None

    def observe(self, event: Event) -> Findings:
        if isinstance(event, ShapesMet):
            self._met = event
        if not isinstance(event, RunEnded) or event.reason != "crashed":
            return
        met = self._met or ShapesMet()
        multiple = _MULTIPLE.search(event.message) if met.failed is not None else None
        if multiple and event.error in _ERRORS | {"AssertionError"}:
            wanted = f"multiples of {multiple[3]}" if multiple[3] else "multiples of a size of its own"
            cause = f"This layer takes only {wanted}, and the input was padded or cropped to something else."
            remedy = "Pad to the least common multiple of what all layers need (14 and 32: 224), and cut the padding off "
            yield self._found(event, met, cause, remedy + "again; `premortem.parts` has a helper for it.")
        elif event.error in _ERRORS and _PATTERNS.search(event.message):
            likely = slip(met)
            cause, at = "Two tensors met whose shapes do not fit.", None
            remedy = (
                "Build that layer for what it is given, or change what comes before it."
                if expects(met)
                else "Look at the shapes that meet at this line; name dimensions in squeeze(dim) and flatten(1)."
            )
            late = (
                " Earlier steps went well: a batch of another size is the usual reason."
                if event.step > 1
                else ""
            )
            if likely is not None:
                cause, remedy, at, late = likely.cause, likely.remedy, likely.at, ""
            shapes = {name: str(shape) for name, shape in met.names} or None
            yield self._found(event, met, cause, remedy, late, at=at, shapes=shapes)

    def _found(
        self, event: RunEnded, met: ShapesMet, cause: str, remedy: str, late: str = "", **more: Any
    ) -> Finding:
        first = event.message.strip().splitlines()[0][:200]
        expected = expects(met)
        first = f"{expected} ({first})" if expected else first
        return self.finding(
            event,
            f"the run ended after {event.step} steps: {first}",
            cause=f"{cause}{way(met)}{late}",
            remedy=remedy,
            module=met.failed.name if met.failed else None,
            error=event.error,
            trail=trail(met) or None,
            **more,
        )
