from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import is_test, not_entered
from premortem.lint.tree import TRIES


class ContextManagerNotEntered(Rule):
    """`torch.no_grad()` or `torch.autocast(...)` stands alone on its line.

    ## Why it matters
    The call builds a context and throws it away: nothing is switched. What was meant to run without gradients
    records a graph for every batch, what was meant to run in half precision runs in float32.

    ## Usual causes
    - it looks like `model.eval()`, which does switch the model
    - `with` was lost when the block was indented anew

    ## What to do
    `with torch.no_grad():` around the code, or `@torch.no_grad()` on the function. `torch.set_grad_enabled(False)` is
    the one that works as a plain call.

    ## When it stays silent
    In tests, and where the call is only tried.
    """

    card = Card("PM525", "context-manager-not-entered", "eval-mode", Severity.ERROR)
    triggers = (b"no_grad", b"inference_mode", b"enable_grad", b"autocast")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call in not_entered(source):
            if is_test(source, call) or isinstance(source.parent(source.statement(call)), TRIES):
                continue
            yield self.report(
                source,
                call,
                f"`{source.text(call.func)}()` alone does nothing: it has to be entered",
                remedy=f"Write `with {source.text(call)}:` around what it is meant for.",
            )
