from premortem.preflight.config.settings_facts import Facts
from premortem.preflight.unit import Card, Check, Findings, Severity


class ConfigUnreadable(Check):
    """A config that the script uses cannot be read.

    ## Why it matters
    The script ends where it loads the file; with several configs that can be late.

    ## Usual causes
    A tab in the indentation of YAML; a bracket or quote that is not closed; marks of an unfinished merge; permissions.

    ## What to do
    Fix the line that is named. In YAML indent with spaces.
    """

    card = Card("PM630", "config-unreadable", "config", Severity.ERROR).explaining("script-crashes")

    def look(self, facts: Facts) -> Findings:
        for file in facts.files:
            if file.problem:
                yield self.finding(
                    f"{file.path.name} cannot be read: {file.problem}",
                    remedy="Indent with spaces." if "tab" in file.problem else "Fix the line that is named.",
                    where=file.where,
                )
