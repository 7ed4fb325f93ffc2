from premortem.preflight.config.checks.number_in_quotes import NUMBER
from premortem.preflight.config.settings_facts import Facts
from premortem.preflight.options import Option
from premortem.preflight.unit import Card, Check, Finding, Findings, Severity, Where


class OptionStaysText(Check):
    """An option of the command line is a number by default, and text when it is given.

    ## Why it matters
    `add_argument("--epochs", default=10)` has no `type`, so `--epochs 20` gives "20". The script works until a user
    uses the option.

    ## Usual causes
    `type=int` or `type=float` was forgotten.

    ## What to do
    Add `type=int` or `type=float`.

    ## When it stays silent
    When the code converts the value itself. An option that is not given in this command is a remark.
    """

    card = Card("PM634", "option-stays-text", "config", Severity.ERROR).explaining(
        "learning-rate-not-a-number"
    )

    def look(self, facts: Facts) -> Findings:
        for option in facts.options.values():
            number = isinstance(option.default, (int, float)) and not isinstance(option.default, bool)
            if option.convert or option.action or option.choices or not number:
                continue
            if option.name in facts.reads.converted:
                continue
            yield self._said(option)

    def _said(self, option: Option) -> Finding:
        kind = type(option.default).__name__
        given = option.given is not None and NUMBER.fullmatch(option.given) is not None
        shown = option.spelled[0]
        message = f"`{shown}` has no `type`: its default is {option.default}, and what is given stays text"
        if given:
            message = f'`{shown} {option.given}` gives the text "{option.given}", not a number'
        return self.finding(
            message,
            cause="argparse converts nothing without `type`.",
            remedy=f"Add `type={kind}` to this `add_argument`.",
            where=Where(option.file, option.line),
            severity=Severity.ERROR if given else Severity.INFO,
        )
