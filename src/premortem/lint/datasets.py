"""Classes of datasets whose samples are read by index: the order of the loader is then the order of the data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from premortem.lint.imports import place
from premortem.lint.patterns import pattern
from premortem.lint.training import names_in
from premortem.lint.tree import last_name, own_method
from premortem.lint.words_used import mentions

if TYPE_CHECKING:
    from premortem.lint.source import Source

INDEXED = "indexed:"  # `indexed:/repo/data.py>TrainSet`
_CHANCE = pattern(r"rand|shuffle|permut|sample\(|choice", re.IGNORECASE)
_DATASET = pattern(r"dataset$", re.IGNORECASE)


def indexed(source: Source) -> Iterator[str]:
    """A mark for each such class of this file."""
    for owner in source.classes if b"__getitem__" in source.data else ():
        if reads_by_index(source, owner) and any(_DATASET.search(last_name(base)) for base in owner.bases):
            yield f"{INDEXED}{place(source.path)}>{owner.name}"


def reads_by_index(source: Source, owner: ast.ClassDef) -> bool:
    """Whether the samples depend on the index, and neither they nor their order on chance."""
    method = own_method(owner, "__getitem__")
    if method is None or len(method.args.args) != 2 or mentions(source, owner, _CHANCE):
        return False
    index = method.args.args[1].arg
    return any(index in names_in(source, statement) for statement in method.body)
