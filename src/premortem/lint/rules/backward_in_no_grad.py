import ast
from collections.abc import Iterator

from premortem.lint.patterns import pattern
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import Backward, backwards, is_test, without_grad
from premortem.lint.words_used import mentions

# Somewhere gradients are switched on again: by hand, or by a condition.
SWITCHED_ON = pattern(r"^enable_grad$|^set_grad_enabled\(")


class BackwardInNoGrad(Rule):
    """`backward()` is called on a loss that was computed with gradients switched off.

    ## Why it matters
    Under `no_grad` and `inference_mode` nothing is recorded, so there is nothing to go back through:
    `RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn`.

    ## Usual causes
    - a training step was written into, or copied from, an evaluation
    - the decorator of an evaluation function sits on the wrong function

    ## What to do
    Move the forward and the backward pass out of the block, or put them under `torch.enable_grad()`.

    ## When it stays silent
    When the loss was computed outside of the block or given to the function: calling `backward()` under `no_grad`
    is allowed then.
    """

    card = Card("PM549", "backward-in-no-grad", "grad-flow", Severity.ERROR)

    needs = (b".backward(",)
    triggers = (b"no_grad", b"inference_mode", b"set_grad_enabled")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if mentions(source, source.tree, SWITCHED_ON):
            return
        for backward in backwards(source):
            if not without_grad(source, backward.call) or is_test(source, backward.call):
                continue
            if source.names.imports("torch") and self._computed_here(source, backward):
                yield self.report(
                    source,
                    backward.call,
                    "the loss is computed with gradients switched off, so this backward() raises",
                    remedy="Compute the loss and call backward() outside of the no_grad block.",
                )

    @staticmethod
    def _computed_here(source: Source, backward: Backward) -> bool:
        if not backward.name:
            return any(isinstance(node, ast.Call) for node in (backward.loss, *source.within(backward.loss)))
        definitions = source.flow(source.scope(backward.call)).definitions(backward.loss)
        return bool(definitions) and all(
            one.how in {"assign", "unpack"}
            and one.value is not None
            and any(isinstance(node, ast.Call) for node in (one.value, *source.within(one.value)))
            and without_grad(source, one.value)
            for one in definitions
        )
