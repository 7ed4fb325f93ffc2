from premortem.preflight.config.settings_facts import Facts, Setting
from premortem.preflight.unit import Card, Check, Findings, Severity
from premortem.preflight.wording import place

_OFF = frozenset(("false", "no", "off"))
_ON = frozenset(("true", "yes", "on"))
# YAML 1.1 takes these for booleans, YAML 1.2 does not.
_ONLY_1_1 = frozenset(("yes", "no", "on", "off"))


class SwitchIsText(Check):
    """A switch is written as text, and every text that is not empty counts as true.

    ## Why it matters
    `shuffle: "false"` switches shuffling on. Nothing complains.

    ## Usual causes
    Quotes around a boolean; `no` and `off` for a loader of YAML 1.2 (ruamel.yaml), which reads them as text; a JSON that
    was written from strings.

    ## What to do
    Write `false` or `true` without quotes.

    ## When it stays silent
    When the code compares the text, or converts it, or when a typed loader does. Where the code is not seen to use
    the value as a condition, it is a remark.
    """

    card = Card("PM632", "switch-is-text", "config", Severity.ERROR).explaining("text-taken-for-a-switch")

    def look(self, facts: Facts) -> Findings:
        if facts.converts:
            return
        for file in facts.files:
            for setting in file.settings:
                if _is_text(setting, facts) and setting.name in facts.reads.names:
                    yield from self._said(setting, facts)

    def _said(self, setting: Setting, facts: Facts) -> Findings:
        name = setting.name
        if name in facts.reads.compared or name in facts.reads.converted:
            return
        off = setting.text.lower() in _OFF
        tested = facts.reads.tested.get(name)
        severity = Severity.ERROR if off and tested is not None else Severity.INFO
        why = "YAML 1.2 reads this word as text." if setting.plain else "What stands in quotes is text."
        effect = "which counts as true" if off else "not a boolean"
        used = f" It is used as a condition at {place(tested)}." if tested is not None else ""
        yield self.finding(
            f'`{setting.shown}` is the text "{setting.text}", {effect}',
            cause=f"{why}{used}",
            remedy=f"Write `{'false' if off else 'true'}` without quotes.",
            where=setting.where,
            severity=severity,
        )


def _is_text(setting: Setting, facts: Facts) -> bool:
    word = setting.text.strip().lower()
    if word not in _OFF | _ON:
        return False
    modern = facts.loaders == {"ruamel"} and str(setting.where.file).endswith((".yaml", ".yml"))
    return not setting.plain or (modern and word in _ONLY_1_1)
