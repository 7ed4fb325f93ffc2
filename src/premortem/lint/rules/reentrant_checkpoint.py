"""PM516 reentrant-checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from premortem.cards import Card
from premortem.findings import Severity
from premortem.lint.diagnostics import Diagnostic
from premortem.lint.facts import Facts
from premortem.lint.rule import Rule
from premortem.lint.source import Source, argument, constant

_CHECKPOINTS = frozenset(
    ("torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint_sequential")
)


class ReentrantCheckpoint(Rule):
    """Activation checkpointing in its reentrant form, or without saying which form is meant.

    ## Why it matters
    The reentrant form is the one that `torch.compile` refuses or breaks its graph at; it also drops gradients
    when no input needs one, and cannot be used with `autograd.grad`. Without `use_reentrant` torch takes the
    reentrant form and warns, and has announced that it will stop accepting this.

    ## Usual causes
    Code from before torch 1.11, where there was only one form.

    ## What to do
    Write `checkpoint(f, x, use_reentrant=False)`.

    ## When it stays silent
    When the keyword is passed on with `**kwargs` or from a variable. An explicit `use_reentrant=True` is reported
    only where this file, or one that imports it, compiles, as a warning; a missing one is otherwise only a note.
    """

    card: ClassVar[Card] = Card(
        code="PM516", name="reentrant-checkpoint", family="compile", severity=Severity.WARNING
    )
    triggers: ClassVar[tuple[bytes, ...]] = (b"torch.utils",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call in source.calls_to("checkpoint", "checkpoint_sequential"):
            if not source.names.all_in(call.func, _CHECKPOINTS):
                continue
            if any(keyword.arg is None for keyword in call.keywords):
                continue
            position = 3 if "sequential" in source.text(call.func) else None
            said = argument(call, "use_reentrant", position)
            if said is not None and constant(said) is not True:
                continue
            if project.runs_with(source.path, "compile"):
                yield self.report(
                    source,
                    call,
                    "this checkpoint is reentrant, and this code is used with torch.compile, which cannot compile through it",
                    remedy="Add `use_reentrant=False`.",
                )
            elif said is None:
                yield self.report(
                    source,
                    call,
                    "`use_reentrant` is not given, so torch takes the old reentrant form",
                    remedy="Add `use_reentrant=False`.",
                    severity=Severity.INFO,
                )
