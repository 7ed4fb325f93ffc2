"""Rules: a source in, diagnostics out. To add one, write its file here: every rule that has a card is found."""

import inspect
from importlib import import_module
from pkgutil import iter_modules

from premortem.lint.rule import ConfigRule, Rule


def _rules() -> dict[str, type[Rule | ConfigRule]]:
    """The rules of all files of this folder, by their codes."""
    found: dict[str, type[Rule | ConfigRule]] = {}
    for module in iter_modules(__path__, f"{__name__}."):
        for unit in vars(import_module(module.name)).values():
            if inspect.isclass(unit) and issubclass(unit, (Rule, ConfigRule)) and "card" in vars(unit):
                if found.setdefault(unit.card.code, unit) is not unit:
                    raise TypeError(f"{unit.__name__} has the code {unit.card.code} of another rule")
    return found


ALL: tuple[type[Rule | ConfigRule], ...] = tuple(rule for _code, rule in sorted(_rules().items()))

__all__ = ["ALL", "ConfigRule", "Rule"]
