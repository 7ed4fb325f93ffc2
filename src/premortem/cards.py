"""The identity of every unit that can say something: a card."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from importlib import import_module
from typing import Any, TypeVar

from premortem.findings import FAMILIES, Finding, Severity


@dataclass(frozen=True, slots=True)
class Card:
    """Code and name of a diagnosis; its page is the docstring of the unit that carries it."""

    code: str
    name: str
    family: str
    severity: Severity
    _: KW_ONLY
    since: str = "0.1"
    # Names of diagnoses that this one causes, anywhere in the run: they are folded under it, so that one root cause is
    # one finding. Without cycles, which a test holds.
    explains: tuple[str, ...] = ()
    # The evidence that names what a finding is about, where the place alone does not: a line may load many files.
    subject: str = ""
    # Likewise, but only where both are about the same place: the same line, one module inside the other.
    explains_here: tuple[str, ...] = ()
    # Likewise, but only what is not dated before it: either may cause the other, and time decides.
    explains_later: tuple[str, ...] = ()
    # It happens at one step: what was seen well before that is not its consequence, except at the very same line.
    sudden: bool = False
    # Only how something shows that has its cause elsewhere: whatever else is an error or a warning of the run explains it.
    symptom: bool = False
    # Not proven on enough real code yet: off unless asked for. Only lint rules have this.
    preview: bool = False

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ValueError(f"{self.code} {self.name}: unknown family {self.family!r}")

    def explaining(self, *names: str) -> Card:
        """The same card, with the names of what this diagnosis causes."""
        return replace(self, explains=names)


def identity(finding: Finding, card: Card | None) -> tuple[Any, ...]:
    """Two findings with the same identity are one: the same diagnosis, at the same place, of the same thing."""
    about = finding.evidence.get(card.subject) if card is not None and card.subject else None
    return finding.code, finding.where, str(about)


def page(card: Card, unit: type) -> str:
    """The documentation of a unit, as `explain`, the docs and the report print it."""
    head = f"{card.code} {card.name} ({card.severity.value}, {card.family}, since {card.since})"
    return f"{head}\n\n{inspect.getdoc(unit) or ''}\n"


Unit = TypeVar("Unit")


def units_in(
    package: str, path: Iterable[str], kind: type[Unit] | tuple[type[Unit], ...]
) -> tuple[type[Unit], ...]:
    """The units of all files of a folder, in the order of their codes: each class of this kind that has a card."""
    found: dict[str, type[Unit]] = {}
    for module in pkgutil.iter_modules(path, f"{package}."):
        if module.ispkg:
            continue
        for unit in vars(import_module(module.name)).values():
            if (
                isinstance(unit, type)
                # Not one that it imports; asked first, it is felt at every start.
                and unit.__module__ == module.name
                and not hasattr(unit, "__origin__")  # `tuple[int, ...]` passes for a class in Python 3.10
                and "card" in vars(unit)
                and issubclass(unit, kind)
            ):
                code = vars(unit)["card"].code
                if found.setdefault(code, unit) is not unit:
                    raise TypeError(f"{unit.__name__} has the code {code} of {found[code].__name__}")
    return tuple(unit for _code, unit in sorted(found.items()))
