from premortem.amounts import short
from premortem.preflight.environment.machine_facts import Facts
from premortem.preflight.unit import Card, Check, Findings, Severity


class TwoCopiesOfAPackage(Check):
    """The project holds a package twice, the two differ, and the script imports one of them.

    ## Why it matters
    Whoever edits the other one sees no effect, and a run from another folder is another program.

    ## Usual causes
    A move to `src/` that left the old folder behind; a backup beside the original; a repository copied into itself.

    ## What to do
    Delete one of them.

    ## When it stays silent
    When both are the same to the last byte, for `build/` and `dist/`, and when the script changes `sys.path` itself.
    """

    card = Card("PM611", "two-copies-of-a-package", "environment", Severity.WARNING)

    def look(self, facts: Facts) -> Findings:
        for copy in facts.copies:
            if copy.outside or copy.same:
                continue
            yield self.finding(
                f"this project has `{copy.name}` twice, and they differ: the script imports {short(copy.used)}, not {short(copy.other)}",
                cause="Which one an import finds depends on the folder that the script is in.",
                remedy="Delete the one that is not meant.",
                where=copy.where,
                used=str(copy.used),
                other=str(copy.other),
            )
