import ast
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Fix, Rule, Severity, Source
from premortem.lint.tree import dotted

# Methods whose bare mention is never of use, whatever they are a method of.
_ALWAYS = frozenset("zero_grad backward empty_cache synchronize".split())
# These are attributes of other things too: the receiver must be called so somewhere, or be known.
_PROVED = frozenset("step eval train".split())


class CallWithoutParentheses(Rule):
    """A method is named as a statement, but not called: `optimizer.zero_grad`.

    ## Why it matters
    The line is valid Python and does nothing. Gradients are not cleared, the model stays in its mode, the step is
    not made, and no error is raised.

    ## Usual causes
    The parentheses were forgotten.

    ## What to do
    Call it: `optimizer.zero_grad()`.

    ## When it stays silent
    Inside `try` (asking whether something has the attribute), and where the receiver is not known to be a model,
    an optimizer or a scheduler.
    """

    card = Card("PM521", "call-without-parentheses", "update-order", Severity.ERROR)
    triggers = (b"torch",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for statement in source.expressions:
            value = statement.value
            if not isinstance(value, ast.Attribute) or not dotted(value):
                continue
            known = value.attr in _ALWAYS or (value.attr in _PROVED and self._known(source, value))
            if not known or any(isinstance(above, ast.Try) for above in source.ancestors(value)):
                continue
            yield self.report(
                source,
                value,
                f"`{source.text(value)}` is named here but not called: this line does nothing",
                remedy=f"Write `{source.text(value)}()`.",
                # The line starts to act, so the program changes: that is for the author to decide.
                fix=Fix((source.insert_after(value, "()"),), safe=False),
            )

    @staticmethod
    def _known(source: Source, value: ast.Attribute) -> bool:
        name = dotted(value.value)
        if source.kinds.of(name) & {"module", "optimizer", "scheduler"}:
            return True
        last = name.rpartition(".")[2]
        wanted = (
            ("optim", "opt", "sched")
            if value.attr == "step"
            else ("model", "net", "generator", "discriminator")
        )
        return any(last.lower().startswith(word) or last.lower().endswith(word) for word in wanted)
