"""PM681 script-crashes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from premortem.cards import Card
from premortem.findings import Finding, Severity, Where
from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.unit import Check


class ScriptCrashes(Check):
    """The script ends with an error in its first steps, its first evaluation or its first save.

    ## Why it matters
    An evaluation or a save that fails after the first epoch takes that epoch with it.

    ## Usual causes
    A missing file or package, a wrong path, an argument that another version of a library does not know, an evaluation
    that was never run before.

    ## What to do
    The last line of your own code is named. `premortem check` runs the script where it is, and only what it writes is
    thrown away, so the error is the one that the run itself would end with.

    ## When it stays silent
    When another finding says what is wrong with it, such as shapes that do not fit, and when the error is a write that
    only the sandbox may have refused.
    """

    card: ClassVar[Card] = Card(
        code="PM681", name="script-crashes", family="environment", severity=Severity.ERROR
    )

    def look(self, facts: Scene) -> Iterable[Finding]:
        told = facts.facts
        if told.ended not in {"crashed", "died"} or told.cut or told.refused or facts.broken:
            return
        file, line = told.where or (None, None)
        after = f"after {told.steps} steps" if told.steps else "before its first step"
        what = (
            f"{told.error}: {first_line(told.message)}"
            if told.error
            else f"its process died (exit code {told.code})"
        )
        yield self.finding(
            f"the script ends {after}: {what}",
            cause="No code catches this error, so the run ends here.",
            remedy="Run the script on its own to see the whole traceback, and put the named line right.",
            where=Where(file=file, line=line),
            step=told.steps,
            error=told.error or None,
        )


def first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0][:240] if lines else "without a message"
