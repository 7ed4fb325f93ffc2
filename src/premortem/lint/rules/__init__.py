"""Rules: a source in, diagnostics out. To add one, write its file here: every rule that has a card is found."""

from premortem.cards import units_in
from premortem.lint.rule import ConfigRule, Rule

# Both kinds are abstract, and are only compared with.
ALL: tuple[type[Rule | ConfigRule], ...] = units_in(__name__, __path__, (Rule, ConfigRule))

__all__ = ["ALL", "ConfigRule", "Rule"]
