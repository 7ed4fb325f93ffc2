import ast
import re
from collections.abc import Iterator

from premortem.lint.lines import put_before
from premortem.lint.patterns import pattern
from premortem.lint.provenance import functions_called, values
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.source import once_per_file
from premortem.lint.training import (
    Backward,
    Step,
    backwards,
    bound_in,
    by_loop,
    helpers,
    is_model,
    is_test,
    owned_parameters,
    steps,
)
from premortem.lint.tree import Loop, argument, dotted, last_name, receiver
from premortem.lint.words_used import mentions

MEASURES = pattern(r"bench|profil|measure|timing")


CLEARS = pattern(r"zero_?grad", re.IGNORECASE)


class NoZeroGrad(Rule):
    """A loop calls `backward()` and `step()`, and nothing in it ever clears the gradients.

    ## Why it matters
    `backward()` adds to what is there. Every step then uses the sum of the gradients of all steps so far: the
    updates grow, the run oscillates or diverges, and the learning rate gets the blame.

    ## Usual causes
    - `zero_grad()` was forgotten, or stands before the loop

    ## What to do
    Call `optimizer.zero_grad()` once per step, before `backward()` or after `step()`.

    ## When it stays silent
    When a function called in the loop clears them, when `.grad` is written by hand, when the model or the optimizer
    is built anew in the loop, with closures, and where the optimizer is not known to be one of torch's.
    """

    card = Card("PM533", "no-zero-grad", "update-order", Severity.ERROR)
    needs = (b".backward(", b".step(", b"optim")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        reported: set[ast.AST] = set()
        for backward in backwards(source):
            loops = source.loops_around(backward.call)
            if not loops or is_test(source, backward.call) or _measures(source, backward.call):
                continue
            for step in _steps_by_loop(source).get(loops[-1], ()):
                shared = [loop for loop in source.loops_around(step.call) if loop in loops]
                if not shared or shared[-1] in reported:
                    continue
                if self._never_cleared(source, shared[-1], backward, step, project):
                    reported.add(shared[-1])
                    yield self.report(
                        source,
                        backward.call,
                        f"nothing in this loop clears the gradients: `{step.optimizer}` steps on the sum of all "
                        "batches so far",
                        remedy=f"Call `{step.optimizer}.zero_grad()` before backward().",
                        fix=put_before(
                            source, source.statement(backward.call), f"{step.optimizer}.zero_grad()"
                        ),
                    )
                break

    def _never_cleared(
        self, source: Source, loop: Loop, backward: Backward, step: Step, project: Facts
    ) -> bool:
        name = step.optimizer
        node = _owner(step)
        built = values(source, node) if node is not None else None
        if built is None:
            # Handed in, or made elsewhere: its name, and a class or file that never clears anything, must do.
            owner = source.class_of(step.call) if name.startswith("self.") else None
            if mentions(source, owner or source.tree, CLEARS) or source.kinds.of(name) - {"optimizer"}:
                return False
            built = []
        if any(source.kinds.of_value(value) != "optimizer" for value in built):
            return False
        if any(last_name(value) == "LBFGS" for value in built):
            return False
        models = {owner for value in built for owner in owned_parameters(source, value)}
        if any(_is_of_bare_tensors(value) for value in built):
            return False  # a number that is moved to show how a schedule works
        changed = bound_in(source, loop)
        if changed & {name, *models} or any(model.partition(".")[0] in changed for model in models):
            return False
        if self._clears(source, loop, name, project):
            return False
        # An optimizer of the project's own can clear in its step.
        return bool(built) or not project.does("step", "zero_grad")

    @staticmethod
    def _clears(source: Source, loop: Loop, optimizer: str, project: Facts) -> bool:
        calls: list[ast.Call] = []
        for node in source.within(loop):
            if isinstance(node, ast.Attribute) and node.attr == "grad":
                parent = source.parent(node)
                if isinstance(node.ctx, (ast.Store, ast.Del)) or isinstance(parent, ast.Attribute):
                    return True  # `p.grad = None`, `p.grad.zero_()`
            if isinstance(node, ast.Call):
                if "zero_grad" in last_name(node):
                    return True
                calls.append(node)
        for call in calls:
            own = functions_called(source, call)
            handed = any(dotted(value) == optimizer for value in call.args) or any(
                dotted(keyword.value) == optimizer for keyword in call.keywords
            )
            if not own and handed and last_name(call) not in {"step", "unscale_", "minimize"}:
                return True  # a function of another file gets the optimizer: it can clear the gradients
            if not own and optimizer.startswith("self.") and dotted(receiver(call)) == "self":
                inherited = dotted(call.func) not in source.assignments
                if (
                    inherited
                    and not is_model(source, dotted(call.func))
                    and not project.knows(last_name(call))
                ):
                    return True  # a method of a base class that is not in the project
        return any(project.does(name, "zero_grad") for name in helpers(source, loop))


@once_per_file
def _steps_by_loop(source: Source) -> dict[Loop, list[Step]]:
    return by_loop(source, steps(source))


def _is_of_bare_tensors(value: ast.expr) -> bool:
    """`SGD([p], lr=1)`: no model's parameters."""
    given = argument(value, "params", 0) if isinstance(value, ast.Call) else None
    return isinstance(given, (ast.List, ast.Tuple)) and all(isinstance(one, ast.Name) for one in given.elts)


def _owner(step: Step) -> ast.expr | None:
    return step.call.args[0] if step.scaler else receiver(step.call)


def _measures(source: Source, node: ast.AST) -> bool:
    """Whether this stands in a benchmark: there the values of the gradients do not matter."""
    function = source.function(node)
    return function is not None and bool(MEASURES.search(function.name.lower()))
