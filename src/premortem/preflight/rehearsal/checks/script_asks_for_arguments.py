from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.unit import Card, Check, Findings, Severity


class ScriptAsksForArguments(Check):
    """The script ends with its own usage message: the command as it was given does not run.

    ## Why it matters
    A job that waits in a queue for hours and then ends with `the following arguments are required` has cost its place.

    ## Usual causes
    A required option was left out; an option was renamed; a value is not one of those allowed.

    ## What to do
    The script's own last line says what is missing. Give `premortem check` the command as you would run it.
    """

    card = Card("PM680", "script-asks-for-arguments", "config", Severity.ERROR)

    def look(self, facts: Scene) -> Findings:
        rehearsed = facts.facts
        if rehearsed.ended != "exited" or rehearsed.code != 2 or rehearsed.steps:
            return
        lines = [line.strip() for line in rehearsed.tail.splitlines() if line.strip()]
        yield self.finding(
            f"the script did not start: {lines[-1][:300] if lines else 'it ended with exit code 2'}",
            cause="It parsed its arguments and ended with exit code 2.",
            remedy="Give premortem check the arguments that the script needs, after its name.",
        )
