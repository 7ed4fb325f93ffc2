import ast
import math
from collections.abc import Callable, Iterator

from premortem.lint.handlers import gives_up, names_metric, statements, words
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import names_in
from premortem.lint.tree import Function, argument, constant, is_broad, last_name, parts, receiver

# Calls that look a number up rather than compute it.
_LOOKUPS = frozenset(
    "float int str get load loads open read readline split strip item index eval match search group import_module "
    "getattr find json parse pop loadtxt safe_load torch_load from_pretrained stat getsize".split()
)
SHORT = 5  # statements
# What these give is a measurement, whatever the code calls it.
_MEASURES = (
    "sklearn.metrics. torchmetrics. torcheval.metrics. skimage.metrics. sacrebleu. nltk.translate. jiwer. "
    "scipy.stats.pearsonr scipy.stats.spearmanr scipy.stats.kendalltau"
).split()
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
        for block in source.tries:
            handlers = [one for one in block.handlers if is_broad(one)]
            if not handlers or not _knows_training(source):
                continue
            computed = _computed(source, block)
            if not computed:
                continue
            measured = _computed(source, block, _measures)
            for handler in handlers:
                if not gives_up(source, handler):
                    yield from self._invented(source, handler, computed, measured)

    def _invented(
        self, source: Source, handler: ast.ExceptHandler, computed: set[str], known: set[str]
    ) -> Iterator[Diagnostic]:
        """`known`: of what was computed, what a function for metrics gave."""
        function = source.function(handler)
        for statement in statements(source, handler):
            if isinstance(statement, ast.Assign):
                named = [_name(part) for target in statement.targets for part in parts(target)]
                measured = {*known, *_given_back(source, function), *filter(names_metric, named)}
                if isinstance(statement.value, ast.Dict) and _metrics(source, statement.value):
                    measured.update(named)
                elif isinstance(statement.value, ast.Dict) and not _all_finite(source, statement.value):
                    continue
                # A return in the `try` stands for whatever the function gives back.
                names = [
                    one for one in named if one in measured and (one in computed or "return" in computed)
                ]
            elif isinstance(statement, ast.Return) and "return" in computed and function is not None:
                measures = "return" in known or names_metric(function.name) or _evaluates(source, function)
                measures = measures or bool(_metrics(source, statement.value))
                names = [function.name] if measures else []
            elif isinstance(statement, ast.Expr) and _is_kept(statement.value):
                # `scores.append(0.0)` where the `try` appends what it computed.
                kept = statement.value
                assert isinstance(kept, ast.Call)  # noqa: S101 - says `_is_kept`
                holder = _name(receiver(kept) or kept.func)
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
            if names and statement.value is not None and _looks_measured(source, statement.value):
                yield self._made_up(source, statement, statement.value)

    def _made_up(self, source: Source, statement: ast.stmt, value: ast.expr) -> Diagnostic:
        return self.report(
            source,
            statement,
            f"any failure above becomes {_shown(source, value)}, which looks like a measured value",
            remedy='Let it fail, or use `float("nan")` and leave it out of decisions.',
        )


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
    return (
        isinstance(value, ast.Dict)
        and bool(value.values)
        and all(_is_finite(source, one) for one in value.values)
    )


def _looks_measured(source: Source, value: ast.expr) -> bool:
    return _is_finite(source, value) or _all_finite(source, value)


def _is_kept(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and last_name(value) == "append" and len(value.args) == 1


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


def _computes(source: Source, value: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Call) and last_name(node) not in _LOOKUPS
        for node in (value, *source.within(value))
    )


def _measures(source: Source, value: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Call)
        and bool(names := source.names.of(node.func))
        and all(any(name.startswith(known) for known in _MEASURES) for name in names)
        for node in (value, *source.within(value))
    )


def _computed(
    source: Source, block: ast.Try, computes: Callable[[Source, ast.expr], bool] = _computes
) -> set[str]:
    """Names that the `try` computes by calling something; "return" when it gives back what it computed."""
    found: set[str] = set()
    for statement in block.body:
        for node in (statement, *source.within(statement, nested=False)):
            if isinstance(node, (ast.Assign, ast.AugAssign)) and (
                computes(source, node.value) or names_in(source, node.value) & found
            ):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                held = [part for target in targets for part in parts(target)]
                found.update(_name(part) for part in held)
                # `metrics["entropy"] = ...`: the table stands for its entries.
                found.update(last_name(part.value) for part in held if isinstance(part, ast.Subscript))
            elif isinstance(node, ast.Call) and _is_kept(node) and computes(source, node.args[0]):
                found.add(f"{_name(receiver(node) or node.func)}.append")
            elif isinstance(node, ast.Return) and node.value is not None:
                # Computed in the return itself, or before it: `return psnr.item()`.
                if computes(source, node.value) or names_in(source, node.value) & found:
                    found.add("return")
            elif isinstance(node, ast.Call) and last_name(node) in _READS_BACK:
                return set()  # reading something back: what is missing there is no failed measurement
            elif isinstance(node, (ast.Import, ast.ImportFrom)) and len(block.body) < SHORT:
                return set()  # the question is whether a package is there
    return found - {""}


def _name(target: ast.expr) -> str:
    if isinstance(target, ast.Subscript):
        key = constant(target.slice)
        return key if isinstance(key, str) else ""
    return last_name(target)


def _is_finite(source: Source, value: ast.expr) -> bool:
    if isinstance(value, ast.Dict):
        return bool(_metrics(source, value))
    if isinstance(value, (ast.Tuple, ast.List)):
        return bool(value.elts) and all(_is_finite(source, one) for one in value.elts)
    if isinstance(value, ast.Call) and last_name(value) in _TENSORS:
        if argument(value, "requires_grad") is not None:
            return False  # PM504 detached-zero-loss owns this case
        given = value.args[0] if value.args else None
        return last_name(value) in {"zeros", "ones", "zeros_like"} or _is_finite(source, given or value.func)
    number = constant(value)
    return isinstance(number, (int, float)) and not isinstance(number, bool) and math.isfinite(number)
