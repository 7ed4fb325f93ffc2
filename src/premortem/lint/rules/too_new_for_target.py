import ast
from collections.abc import Iterator

from premortem.lint import drift
from premortem.lint.drift import spelled
from premortem.lint.newer_interfaces import newcomers
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.signatures import Minor
from premortem.lint.target import Pin


class TooNewForTarget(Rule):
    """The code uses a function or keyword that only later versions have.

    ## Why it matters
    The import or the call fails on the version this project pins or has installed.

    ## Usual causes
    An example from the documentation of a newer release; an environment that was not updated with the code.

    ## What to do
    Raise the pinned version to the one the message names, or do without. Say which version the project runs with by
    `--torch 2.4`.

    ## When it stays silent
    When another import of the same name has it; in a `try` that catches the failure, or under a condition about
    versions or `hasattr`; when no version is pinned or installed, or only a README or Dockerfile names one.
    """

    card = Card("PM582", "too-new-for-target", "api-drift", Severity.ERROR)
    triggers = drift.TRIGGERS

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for node, what, since, pin in newcomers(source, project, _newest):
            otherwise = (
                f"leave `{node.arg}=` out" if isinstance(node, ast.keyword) else "ask for it with `hasattr`"
            )
            yield self.report(
                source,
                node,
                f"{what} came with {pin.distribution} {spelled(since)}; the version here is {pin}",
                remedy=f"Raise {pin.distribution} to {spelled(since)}, or {otherwise}.",
                # What is imported at the top fails for sure; a function may not be meant for this version.
                severity=Severity.ERROR if source.function(node) is None else Severity.WARNING,
            )


def _newest(pin: Pin) -> Minor | None:
    return pin.newest
