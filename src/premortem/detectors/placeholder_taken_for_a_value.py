from collections.abc import Iterator

from premortem.amounts import some
from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import DataProfiled
from premortem.findings import Finding, Severity
from premortem.profile.wording import placeholder


class PlaceholderTakenForAValue(Detector):
    """A column has one value, repeated and far from all others, where something was missing.

    ## Why it matters
    -9999 is a number. It enters mean and standard deviation, so that the real values are squashed to a sliver; it dominates
    the loss of its batch; and a linear layer cannot tell it from a measurement.

    ## Usual causes
    A file that writes -9999, 999 or 65535 for "not measured", read without saying so.

    ## What to do
    Read it as missing (`na_values=[-9999]`), fill it with the median, and add a column that says where that was done.

    ## When it stays silent
    When the value is a usual one, when the others are few or reach half as far, and when it comes once or twice: an outlier
    is a measurement. When the script asks for this very value (`x == 999`, `na_values=[999]`), and so may mask it out.
    """

    card = Card(
        "PM435",
        "placeholder-taken-for-a-value",
        "data-scale",
        Severity.WARNING,
        explains=(
            "uninformative-labels",
            "unnormalised-inputs",
            "updates-too-large",
            "exploding-gradients",
            "clipped-hard-every-step",
            "saturated-activations",
        ),
    )
    listens = (DataProfiled,)

    def observe(self, event: DataProfiled) -> Iterator[Finding]:
        streams = [p for p in event.profiles if p.phase == "training" and p.kind != "tokens"]
        for trained in (p for p in streams if p.beside != "target"):  # a loss may leave such targets out
            found = trained.placeholders
            if not found or not self.once(trained.name):
                continue
            names = [each.column for each in found]
            also = f"; so have {some(names[1:])}" if len(names) > 1 else ""
            yield self.finding(
                event,
                f"{placeholder(found[0])}{also}",
                cause="One value, repeated and far outside of all others, is a placeholder for a missing value (a sentinel), and "
                f"is used as a number in {trained.name}.",
                remedy="Read it as missing and fill it in, before means and standard deviations are computed.",
                columns=names[:20],
                value=found[0].value,
                rows=found[0].times,
                of=found[0].of,
            )
