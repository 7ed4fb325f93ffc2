from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import DataProfiled
from premortem.findings import Finding, Severity
from premortem.profile.alone import coarse


class StoredTooCoarsely(Detector):
    """A column holds numbers so large that its type cannot tell neighbouring ones apart.

    ## Why it matters
    float32 has 24 bits. A clock in seconds since 1970 stands still for two minutes at a time, and what is computed from
    differences of it is noise.

    ## Usual causes
    Timestamps, identifiers or coordinates in millimetres that became float32 before a start was subtracted.

    ## What to do
    Subtract the smallest value in 64 bits, then convert.

    ## When it stays silent
    When the values spread over more steps of the type than a pixel has.
    """

    card = Card("PM438", "stored-too-coarsely", "data-scale", Severity.WARNING)
    listens = (DataProfiled,)

    def observe(self, event: DataProfiled) -> Iterator[Finding]:
        for trained in (p for p in event.profiles if p.phase == "training" and p.dtype == "float32"):
            for column, steps in coarse(trained):
                if self.once(column.name):
                    yield self.finding(
                        event,
                        f"`{column.name}` is {column.mean:.6g} ± {column.spread:.3g} in float32, which has only {steps} different "
                        "numbers for nine tenths of its values",
                        cause="Numbers of that size are rounded to multiples of a large step: the precision is lost that tells "
                        "one row from the next.",
                        remedy="Subtract the smallest value while it is still float64 or an integer, then convert.",
                        column=column.name,
                        mean=column.mean,
                        steps=steps,
                    )
