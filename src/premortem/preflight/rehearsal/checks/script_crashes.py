from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.unit import Card, Check, Findings, Severity, Where


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

    card = Card("PM681", "script-crashes", "environment", Severity.ERROR)

    def look(self, facts: Scene) -> Findings:
        rehearsed = facts.facts
        if rehearsed.ended not in {"crashed", "died"} or rehearsed.cut or rehearsed.refused or facts.broken:
            return
        file, line = rehearsed.where or (None, None)
        after = f"after {rehearsed.steps} steps" if rehearsed.steps else "before its first step"
        what = (
            f"{rehearsed.error}: {first_line(rehearsed.message)}"
            if rehearsed.error
            else f"its process died (exit code {rehearsed.code})"
        )
        yield self.finding(
            f"the script ends {after}: {what}",
            cause="No code catches this error, so the run ends here.",
            remedy="Run the script on its own to see the whole traceback, and put the named line right.",
            where=Where(file=file, line=line),
            step=rehearsed.steps,
            error=rehearsed.error or None,
        )


def first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0][:240] if lines else "without a message"
