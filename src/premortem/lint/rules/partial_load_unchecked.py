import ast
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.tree import argument, constant


class PartialLoadUnchecked(Rule):
    """`load_state_dict(..., strict=False)`, and the code does not check what it left out.

    ## Why it matters
    With `strict=False` a checkpoint of which no key fits loads without an error, and the model stays random. The
    call returns the missing and the unexpected keys; here they are dropped.

    ## Usual causes
    - a few keys are known to be missing (a new head), so the check was switched off for all
    - a prefix such as `module.` or `_orig_mod.` that does not match

    ## What to do
    Keep the result and look at it: `missing, unexpected = model.load_state_dict(state, strict=False)`.
    """

    card = Card("PM509", "partial-load-unchecked", "checkpoint", Severity.INFO)
    triggers = (b"load_state_dict",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call in source.calls_to("load_state_dict"):
            if constant(argument(call, "strict", 1)) is False and isinstance(source.parent(call), ast.Expr):
                yield self.report(
                    source,
                    call,
                    "keys that do not fit are skipped, and the list of them is not checked",
                    remedy="Keep the result and check `missing_keys` and `unexpected_keys`.",
                )
