from collections.abc import Iterator

from premortem.lint import drift
from premortem.lint.drift import spelled
from premortem.lint.newer_interfaces import newcomers
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.signatures import Minor
from premortem.lint.target import Pin


class TooNewForOldest(Rule):
    """The code uses what the oldest version that the project allows does not have yet.

    ## Why it matters
    A requirement like `torch>=2.0` promises that the code runs on 2.0. On a machine that has it, the call fails.

    ## Usual causes
    The lower bound was written once and never raised.

    ## What to do
    Raise the lower bound to the version the message names, or do without.

    ## When it stays silent
    As PM582; and when one version only is allowed, which is PM582's business.
    """

    card = Card("PM584", "too-new-for-oldest", "api-drift", Severity.WARNING, preview=True)
    triggers = drift.TRIGGERS

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        reported: set[str] = set()
        for node, what, since, pin in newcomers(source, project, _oldest):
            if pin.newest and since <= pin.newest and what not in reported:
                reported.add(what)  # one bound to raise: once in a file is enough
                yield self.report(
                    source,
                    node,
                    f"{what} came with {pin.distribution} {spelled(since)}; {pin} allows older ones",
                    remedy=f"Raise the lower bound to {spelled(since)}.",
                )


def _oldest(pin: Pin) -> Minor | None:
    return pin.minors[0] if len(pin.minors) > 1 else None
