"""The functions torch generates from its operator list, which every wheel carries."""

from __future__ import annotations

import re

from sigdb.namespaces import Wheel

OPERATORS = "torchgen/packaged/ATen/native/native_functions.yaml"
FUNCTION = re.compile(r"^- func: (\w+)(?:\.\w+)?\((.*)\) ->", re.MULTILINE)
ARGUMENT = re.compile(
    r"[\w?]+(?:\[\d*\])?(?:\([\w!| >-]*\))?(?:\[\d*\])?\??\s+(\w+)(?:=(?:\[[^\]]*\]|[^,]*))?"
)


class Natives:
    """Operator name → the keywords its Python function takes, over all its overloads."""

    def __init__(self, text: str) -> None:
        self._keywords: dict[str, dict[str, None]] = {}
        for name, arguments in FUNCTION.findall(text):
            found = ["input" if word == "self" else word for word in ARGUMENT.findall(arguments)]
            if {"dtype", "layout", "device", "pin_memory"} <= set(found):
                found.append("requires_grad")  # the generated function adds it to every factory
            self._keywords.setdefault(name, {}).update(dict.fromkeys(found))

    @classmethod
    def of(cls, wheel: Wheel) -> Natives:
        return cls(wheel.read(OPERATORS) or "")

    def keywords(self, operator: str) -> tuple[str, ...]:
        return tuple(self._keywords.get(operator, ()))
