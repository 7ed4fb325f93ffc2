from premortem.preflight.config.settings_facts import Facts
from premortem.preflight.unit import Card, Check, Findings, Severity, Where

_OFF = frozenset(("false", "no", "off", "0", "none"))


class SwitchAlwaysOn(Check):
    """An option with `type=bool` is true whatever is given.

    ## Why it matters
    `bool("False")` is True: `--amp False` switches it on.

    ## Usual causes
    `type=bool` looks right, and argparse calls it with the text.

    ## What to do
    Use `action=argparse.BooleanOptionalAction` (`--amp`, `--no-amp`), or `action="store_true"`.

    ## When it stays silent
    An option that this command does not switch off is a remark.
    """

    card = Card("PM635", "switch-always-on", "config", Severity.ERROR)

    def look(self, facts: Facts) -> Findings:
        for option in facts.options.values():
            if option.convert != "bool":
                continue
            # argparse converts a default that is text, too.
            text = option.given if option.given is not None else option.default
            wrong = isinstance(text, str) and text.lower() in _OFF
            shown = option.spelled[0]
            how = f"`{shown} {text}`" if option.given is not None else f'the default of `{shown}`, "{text}",'
            yield self.finding(
                f"{how} is True" if wrong else f"`{shown}` has `type=bool`: whatever is given is True",
                cause='`bool("False")` is True, as every text is that is not empty.',
                remedy="Use `action=argparse.BooleanOptionalAction`.",
                where=Where(option.file, option.line),
                severity=Severity.ERROR if wrong else Severity.INFO,
            )
