"""Rules: a source in, diagnostics out. To add one, write its file here: every rule that has a card is found."""

from premortem.cards import units_in
from premortem.lint.rule import ConfigRule, Rule

# Both kinds are abstract, and are only compared with.
_RULES = units_in(__name__, __path__, Rule)  # type: ignore[type-abstract]
_CONFIG_RULES = units_in(__name__, __path__, ConfigRule)  # type: ignore[type-abstract]
ALL: tuple[type[Rule | ConfigRule], ...] = tuple(
    sorted((*_RULES, *_CONFIG_RULES), key=lambda rule: rule.card.code)
)

__all__ = ["ALL", "ConfigRule", "Rule"]
