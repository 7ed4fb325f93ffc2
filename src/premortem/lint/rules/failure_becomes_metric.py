import ast
import math
from collections.abc import Iterator

from premortem.lint.handlers import (
    computed_by,
    falls_to,
    gives_up,
    held_name,
    is_kept,
    names_metric,
    statements,
    words,
)
from premortem.lint.measured import added_to, by_a_metric, by_numbers, is_averaged, losses_of, takes_apart
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import is_test, names_in
from premortem.lint.tree import (
    Function,
    argument,
    constant,
    dotted,
    is_broad,
    last_name,
    parameters,
    parts,
    receiver,
)

_READS_BACK = frozenset("load load_state_dict import_module".split())
_TENSORS = frozenset("tensor zeros ones zeros_like Tensor FloatTensor array full".split())


class FailureBecomesMetric(Rule):
    """When a loss or a metric cannot be computed, a made-up number takes its place.

    ## Why it matters
    The 0.0 or 999.0 of a crash looks like a real result. The scheduler lowers the rate because of it, the
    best checkpoint is chosen by it, and the curve shows a value that was never measured.

    ## Usual causes
    A broad `except` around an evaluation that failed once.

    ## What to do
    Let it fail, or use `float("nan")`, which stays visible, and leave such values out of every decision. Catch the
    one error that is expected, such as the `ValueError` of an AUC with one class.

    ## When it stays silent
    NaN, infinity and None say honestly that there is no number. So does a handler that raises or tries again.
    """

    card = Card("PM505", "failure-becomes-metric", "numerics-masked", Severity.WARNING)
    triggers = (b"except",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        known = _knows_training(source) if source.tries else True
        for one in self._found(source):
            if known or project.learns:
                yield one

    def _found(self, source: Source) -> Iterator[Diagnostic]:
        for block in source.tries:
            handlers = [one for one in block.handlers if is_broad(one) and not gives_up(source, one)]
            if not handlers or is_test(source, block):
                continue
            measured = computed_by(source, block, by_a_metric, probing=False)
            computed = computed_by(source, block) | measured
            if not computed or _reads_back(source, block):
                continue
            more = measured | _measured(source, block)
            for handler in handlers:
                # A tensor of zeros for what is no metric is a sample that is made up: PM507.
                known = measured if _gives_tensors(source, handler) else more
                yield from self._invented(source, block, handler, computed, known)
                yield from self._left_over(source, block, handler, computed, more)

    def _invented(
        self, source: Source, block: ast.Try, handler: ast.ExceptHandler, computed: set[str], known: set[str]
    ) -> Iterator[Diagnostic]:
        """`known`: of what was computed, what a function for metrics gave."""
        function = source.function(handler)
        fallen = falls_to(source, block, handler)
        for statement in (*statements(source, handler), *([fallen] if fallen is not None else [])):
            if isinstance(statement, ast.Assign):
                held = [part for target in statement.targets for part in parts(target)]
                # `features[key] = 0.0` for each key: the table stands for its entries.
                named = [
                    last_name(part.value)
                    if isinstance(part, ast.Subscript) and constant(part.slice) is None
                    else held_name(part)
                    for part in held
                ]
                measured = {*known, *_given_back(source, function), *filter(names_metric, named)}
                if _metrics(source, _made_by(source, statement.value)):
                    measured.update(named)
                elif isinstance(statement.value, ast.Dict) and not _all_finite(source, statement.value):
                    continue
                # A return in the `try` stands for whatever the function gives back.
                names = [
                    one for one in named if one in measured and (one in computed or "return" in computed)
                ]
            elif isinstance(statement, ast.Return) and "return" in computed and function is not None:
                measures = "return" in known or names_metric(function.name) or _evaluates(source, function)
                measures = measures or bool(_metrics(source, _made_by(source, statement.value)))
                names = [function.name] if measures else []
            elif isinstance(statement, ast.Expr) and is_kept(statement.value):
                # `scores.append(0.0)` where the `try` appends what it computed.
                kept = statement.value
                assert isinstance(kept, ast.Call)  # noqa: S101 - says `is_kept`
                holder = held_name(receiver(kept) or kept.func)
                kept_before = f"{holder}.append"
                names = (
                    [holder]
                    if kept_before in known or (kept_before in computed and names_metric(holder))
                    else []
                )
                if names and _is_finite(source, kept.args[0]):
                    yield self._made_up(source, statement, kept.args[0])
                continue
            else:
                continue
            names = [one for one in names if not _is_tried_too(source, block, one, statement.value)]
            if names and statement.value is not None and _looks_measured(source, statement.value):
                yield self._made_up(source, statement, statement.value)

    def _left_over(
        self,
        source: Source,
        block: ast.Try,
        handler: ast.ExceptHandler,
        computed: set[str],
        known: set[str],
    ) -> Iterator[Diagnostic]:
        """`score = 0.0` before the `try`, and a handler that goes on: the number that was only a start is the result."""
        if not all(isinstance(one, (ast.Pass, ast.Expr)) for one in handler.body):
            return
        scope = source.scope(handler)
        flow = source.flow(scope)
        measured = known | _given_back(source, source.function(handler))
        for use in _given_on(source, scope):
            name = use.id
            if name not in computed or not (name in measured or names_metric(name)):
                continue
            if not flow.reaches(handler, use):
                continue
            before = flow.definitions(block.body[0], name)
            if before and all(
                one.how == "assign" and one.value is not None and _is_finite(source, one.value)
                for one in before
            ):
                yield self._made_up(source, handler, before[-1].value or use)
                return

    def _made_up(self, source: Source, statement: ast.AST, value: ast.expr) -> Diagnostic:
        return self.report(
            source,
            statement,
            f"any failure above becomes {_shown(source, value)}, which looks like a measured value",
            remedy='Let it fail, or use `float("nan")` and leave it out of decisions.',
        )


def _given_on(source: Source, scope: ast.AST) -> list[ast.Name]:
    """The names that a function gives back, alone, in a tuple or in a dict."""
    found: list[ast.Name] = []
    for one in source.returns(scope):
        value = one.value
        items: list[ast.expr | None] = [value]
        if isinstance(value, (ast.Tuple, ast.List)):
            items = [*value.elts]
        elif isinstance(value, ast.Dict):
            items = [*value.values]
        found += [item for item in items if isinstance(item, ast.Name)]
    return found


def _shown(source: Source, value: ast.expr) -> str:
    """On one line, and not longer than a line."""
    text = " ".join(source.text(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _given_back(source: Source, function: Function | None) -> set[str]:
    """The names that a function named after a metric returns."""
    if function is None or not names_metric(function.name):
        return set()
    return {
        one.value.id
        for one in source.within(function, nested=False)
        if isinstance(one, ast.Return) and isinstance(one.value, ast.Name)
    }


def _made_by(source: Source, value: ast.expr | None) -> ast.expr | None:
    """What a helper of this file gives, where it gives one thing only."""
    if not isinstance(value, ast.Call) or source.callee(value) is None:
        return value
    made = source.flow(source.scope(value)).origins(value, calls=True)
    return made[0] if len(made) == 1 else value


def _metrics(source: Source, value: ast.expr | None) -> list[ast.expr]:
    """The numbers that a dict gives for metrics: 0.0 of `{"loss": 0.0, "name": "x"}`."""
    if not isinstance(value, ast.Dict):
        return []
    return [
        number
        for key, number in zip(value.keys, value.values, strict=True)
        if isinstance(name := constant(key), str) and names_metric(name) and _is_finite(source, number)
    ]


def _all_finite(source: Source, value: ast.expr) -> bool:
    """A dict of numbers only, however its keys are called."""
    if isinstance(value, ast.DictComp):
        return _is_finite(source, value.value)
    if isinstance(value, ast.Call) and dotted(value.func) == "dict.fromkeys" and len(value.args) == 2:
        return _is_finite(source, value.args[1])
    return (
        isinstance(value, ast.Dict)
        and bool(value.values)
        and all(_is_finite(source, one) for one in value.values)
    )


def _looks_measured(source: Source, value: ast.expr) -> bool:
    if isinstance(value, ast.Call) and source.callee(value) is not None:
        made = source.flow(source.scope(value)).origins(value, calls=True)
        return all(one is not value and _looks_measured(source, one) for one in made)
    return _is_finite(source, value) or _all_finite(source, value)


def _evaluates(source: Source, function: Function) -> bool:
    """A function called evaluate or validate that computes a loss or a metric."""
    if not {"evaluate", "validate", "validation"}.intersection(words(function.name)):
        return False
    return any(
        isinstance(node, ast.Call) and (names_metric(last_name(node)) or "criterion" in last_name(node))
        for node in source.within(function)
    )


def _knows_training(source: Source) -> bool:
    packages = ("torch", "keras", "sklearn", "tensorflow", "lightning", "pytorch_lightning", "transformers")
    return any(source.names.imports(package) for package in packages)


def _reads_back(source: Source, block: ast.Try) -> bool:
    """Whether it reads something back: what is missing there is no failed measurement."""
    return any(
        isinstance(node, ast.Call) and last_name(node) in _READS_BACK
        for statement in block.body
        for node in source.within(statement, nested=False)
    )


def _gives_tensors(source: Source, handler: ast.ExceptHandler) -> bool:
    return any(
        isinstance(value := getattr(one, "value", None), ast.Call) and last_name(value) in _TENSORS
        for one in statements(source, handler)
    )


def _is_tried_too(source: Source, block: ast.Try, name: str, value: ast.expr | None) -> bool:
    """Whether the `try` gives the same constant to the same name, or back, on one of its ways: then it is an ordinary value."""
    function = source.function(block)
    given_back = function is not None and name == function.name
    return constant(value) is not None and any(
        isinstance(node, (ast.Assign, ast.Return))
        and constant(node.value) == constant(value)
        and (
            given_back
            if isinstance(node, ast.Return)
            else name in {held_name(part) for target in node.targets for part in parts(target)}
        )
        for statement in block.body
        for node in (statement, *source.within(statement, nested=False))
    )


def _runs_an_evaluation(source: Source, value: ast.expr) -> bool:
    """`evaluate(model, loader)`: by its name, and given more than a text."""
    return any(
        isinstance(node, ast.Call)
        and {"evaluate", "validate", "evaluation", "validation"} & set(words(last_name(node)))
        and len(node.args) + len(node.keywords) > 1
        for node in (value, *source.within(value))
    )


def _measured(source: Source, block: ast.Try) -> set[str]:
    """What a `try` computes that is a measurement by what it is made of, or by what becomes of it."""
    function = source.function(block)
    if function is None or "reward" in function.name.lower():
        return set()
    found = computed_by(source, block, by_numbers) if parameters(function) else set()
    found |= computed_by(source, block, _runs_an_evaluation)
    if losses := losses_of(source, block):
        found |= computed_by(source, block, lambda _source, value: bool(names_in(source, value) & losses))
    if not takes_apart(source, block):
        for name in computed_by(source, block):
            kept = {name.removesuffix(".append")} if name.endswith(".append") else set()
            if any(is_averaged(source, function, held) for held in kept | added_to(source, function, name)):
                found.add(name)
    return {name for name in found if not {"reward", "rewards"} & set(words(name))}


def _is_finite(source: Source, value: ast.expr) -> bool:
    if isinstance(value, ast.Dict):
        return bool(_metrics(source, value))
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult) and isinstance(value.left, ast.List):
        return _is_finite(source, value.left)  # `[0.0] * 13`
    if isinstance(value, ast.ListComp):
        return _is_finite(source, value.elt)
    if isinstance(value, (ast.Tuple, ast.List)):
        return bool(value.elts) and all(_is_finite(source, one) for one in value.elts)
    if isinstance(value, ast.Call) and last_name(value) in _TENSORS:
        if argument(value, "requires_grad") is not None:
            return False  # PM504 detached-zero-loss owns this case
        given = value.args[0] if value.args else None
        return last_name(value) in {"zeros", "ones", "zeros_like"} or _is_finite(source, given or value.func)
    number = constant(value)
    return isinstance(number, (int, float)) and not isinstance(number, bool) and math.isfinite(number)
