import re

from premortem.lint.keys import is_usual
from premortem.preflight.config.settings_facts import Facts
from premortem.preflight.unit import Card, Check, Findings, Severity
from premortem.preflight.wording import place

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


class NumberInQuotes(Check):
    """A number stands in quotes, so that the script gets text.

    ## Why it matters
    `lr: "0.001"` is text: an optimizer refuses it, `"2" * 8` is "22222222", and "10" < "9".

    ## Usual causes
    Quotes copied from JSON; a template that quotes everything.

    ## What to do
    Take the quotes away. `premortem.parts.load_config` reads a config into a typed class and names the line.

    ## When it stays silent
    For keys that do not name quantities, and for keys that the code or its loader converts.
    """

    card = Card("PM633", "number-in-quotes", "config", Severity.WARNING).explaining(
        "learning-rate-not-a-number"
    )

    def look(self, facts: Facts) -> Findings:
        if facts.converts:
            return
        reads = facts.reads
        for file in facts.files:
            for setting in file.settings:
                name = setting.name
                known = name in reads.names and name not in reads.converted and name not in reads.compared
                if not setting.plain and known and is_usual(name) and NUMBER.fullmatch(setting.text.strip()):
                    yield self.finding(
                        f'`{setting.shown}` is the text "{setting.text}", not a number',
                        cause=f"It stands in quotes, and the code uses it as it is ({place(reads.names[name])}).",
                        remedy=f"Write `{setting.text.strip()}` without quotes.",
                        where=setting.where,
                    )
