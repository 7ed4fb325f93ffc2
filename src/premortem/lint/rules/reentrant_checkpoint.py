import ast
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.tree import argument, constant

_SEQUENTIAL = "torch.utils.checkpoint.checkpoint_sequential"
_CHECKPOINTS = frozenset(("torch.utils.checkpoint.checkpoint", _SEQUENTIAL))
_LAST = frozenset(("checkpoint", "checkpoint_sequential"))


class ReentrantCheckpoint(Rule):
    """Activation checkpointing in its reentrant form, or without saying which form is meant.

    ## Why it matters
    The reentrant form runs a second autograd pass inside the first. Several versions of `torch.compile` fail on it or
    break the graph there (torch 2.13 compiles the simple cases); it gives no gradient at all when no input needs
    one, and cannot be used with `autograd.grad`. Without `use_reentrant` torch takes this form and warns, and has
    announced that it will stop accepting that.

    ## Usual causes
    Code from before torch 1.11, where there was only one form.

    ## What to do
    Write `checkpoint(f, x, use_reentrant=False)`.

    ## When it stays silent
    When the keyword is passed on with `**kwargs` or from a variable. An explicit `use_reentrant=True` is reported
    only where this file, or one that imports it, compiles, as a warning; a missing one is otherwise only a note.
    """

    card = Card("PM516", "reentrant-checkpoint", "compile", Severity.WARNING)
    triggers = (b"checkpoint",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        # Under whatever name it was imported.
        spelled = {
            alias.asname or alias.name
            for chosen in source.nodes(ast.ImportFrom)
            for alias in chosen.names
            if alias.name in _LAST
        }
        for call in source.calls_to(*sorted(spelled | _LAST)):
            if not source.names.all_in(call.func, _CHECKPOINTS):
                continue
            if any(keyword.arg is None for keyword in call.keywords):
                continue
            position = 3 if source.names.any_in(call.func, {_SEQUENTIAL}) else None
            given = argument(call, "use_reentrant", position)
            if given is not None and constant(given) is not True:
                continue
            if project.runs_with(source.path, "compile"):
                yield self.report(
                    source,
                    call,
                    "this checkpoint is reentrant, a form that torch.compile fails on or breaks the graph at in many versions",
                    remedy="Add `use_reentrant=False`.",
                )
            elif given is None:
                yield self.report(
                    source,
                    call,
                    "`use_reentrant` is not given, so torch takes the old reentrant form",
                    remedy="Add `use_reentrant=False`.",
                    severity=Severity.INFO,
                )
