"""PM563 transform-set-through-a-part."""

import ast
import re
from collections.abc import Iterator

from premortem.lint.patterns import pattern
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.tree import dotted, last_name, parts

_TRANSFORM = pattern(r"transform|augment", re.IGNORECASE)
_SPLITTING = frozenset(("random_split", "Subset"))


class TransformSetThroughAPart(Rule):
    """`part.dataset.transform = …`: all parts of a split dataset share it, so the transform changes for all of them.

    ## Why it matters
    `random_split` and `Subset` hold indices and a reference to the one dataset. A transform that is set through the validation part
    takes the augmentation away from the training part too; one that is set through the training part augments the validation.

    ## Usual causes
    Splitting first, and giving each part its transform afterwards.

    ## What to do
    Build the dataset twice, with a transform each, and split both by the same indices; or give one part a copy of its own first:
    `part.dataset = copy.copy(dataset)`.

    ## When it stays silent
    When that part is given a dataset of its own anywhere in the file.
    """

    card = Card(
        code="PM563", name="transform-set-through-a-part", family="data-augment", severity=Severity.ERROR
    )
    needs = (b".dataset.",)
    triggers = (b"random_split", b"Subset")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        assignments = [
            (target, node.value)
            for node in source.nodes(ast.Assign)
            for given in node.targets
            for target in parts(given)
        ]
        split = {
            dotted(target)
            for target, value in assignments
            if isinstance(value, ast.Call) and last_name(value) in _SPLITTING
        }
        own = {_part(target) for target, _ in assignments}
        for target, _ in assignments:
            if not isinstance(target, ast.Attribute) or not _TRANSFORM.search(target.attr):
                continue
            part = _part(target.value)
            if part and part in split - own:
                yield self.report(
                    source,
                    target,
                    f"`{source.text(target)}` is set for all parts of the dataset, not for `{part}` alone",
                    remedy=f"Give it a dataset of its own first: `{part}.dataset = copy.copy(dataset)`.",
                )


def _part(node: ast.expr) -> str:
    """`self.val_set` of `self.val_set.dataset`; "" of anything else."""
    return dotted(node.value) if isinstance(node, ast.Attribute) and node.attr == "dataset" else ""
