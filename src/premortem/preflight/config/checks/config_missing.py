import difflib
from pathlib import Path

from premortem.amounts import short
from premortem.preflight.config.settings_facts import Facts
from premortem.preflight.unit import Card, Check, Findings, Severity


class ConfigMissing(Check):
    """A config that the command or the code names is not there.

    ## Why it matters
    The script ends where it opens the file, or goes on with defaults that were not chosen.

    ## Usual causes
    The command was started in another folder; a file that was renamed; `.yml` for `.yaml`.

    ## What to do
    Name the file as it is called, seen from the folder that the command starts in.

    ## When it stays silent
    For a default of the code, when the code asks first whether the file exists.
    """

    card = Card("PM631", "config-missing", "config", Severity.ERROR).explaining("script-crashes")

    def look(self, facts: Facts) -> Findings:
        for file in facts.files:
            if not file.missing or (not file.given and facts.asks_first):
                continue
            near = _near(file.path)
            hint = (
                f"Did you mean {short(near)}?"
                if near
                else "Name it as seen from the folder the command starts in."
            )
            who = "the command line" if file.given else "the code"
            yield self.finding(
                f"there is no config {short(file.path)}, which {who} names",
                remedy=hint,
                where=file.named,
                severity=Severity.ERROR if file.given else Severity.WARNING,
            )


def _near(path: Path) -> str:
    try:
        names = [other.name for other in path.parent.iterdir() if other.is_file()]
    except OSError:
        return ""
    found = difflib.get_close_matches(path.name, names, n=1, cutoff=0.7)
    return str(path.with_name(found[0])) if found else ""
