from collections.abc import Iterator

from premortem.amounts import some
from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import DataProfiled
from premortem.findings import Finding, Severity
from premortem.profile.alone import constants, is_what_is_left
from premortem.profile.wording import amount


class ColumnIsOneNumber(Detector):
    """A column of the input is the same number in every row.

    ## Why it matters
    A feature without information: the model is trained without it, and all that shows is a score that is lower than last
    month.

    ## Usual causes
    A join that failed and left the default; a sensor that stands still; a column that was overwritten when the file was made.

    ## What to do
    Look at the column in the file, and count its different values where the file is made.

    ## When it stays silent
    For 0 and 1, which are written on purpose (a constant term, a place that is kept free), and when a fifth of the columns
    are like it. Among standardised columns it is a remark up to 1: the script has dealt with a constant. Less its mean it is 0, or
    what rounding left of it, which the deviation is no smaller than.
    """

    card = Card("PM437", "column-is-one-number", "data-scale", Severity.WARNING)
    listens = (DataProfiled,)

    def observe(self, event: DataProfiled) -> Iterator[Finding]:
        for trained in (p for p in event.profiles if p.phase == "training"):
            dead = constants(trained)
            if not dead or not self.once(trained.name):
                continue
            yield self.finding(
                event,
                f"{some([c.name for c in dead])} {'is' if len(dead) == 1 else 'are'} {amount(dead[0].low)} in all {trained.rows} rows "
                "that were seen: a constant column",
                cause=f"In {trained.name} a feature has a single value, while the others vary.",
                remedy="Look at that column in the file: a join that failed, a sensor that stands still, a default.",
                severity=Severity.INFO if all(is_what_is_left(c, trained) for c in dead) else None,
                columns=[c.name for c in dead][:20],
                value=dead[0].low,
                rows=trained.rows,
            )
