import ast
import re
from collections.abc import Iterator

from premortem.lint.handlers import words
from premortem.lint.patterns import pattern
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import WITHOUT_GRAD
from premortem.lint.tree import Function, argument, constant, dotted, last_name, receiver
from premortem.lint.values import from_elsewhere
from premortem.lint.words_used import mentions

_FUNCTIONS = frozenset(("torch.nan_to_num", "torch.nan_to_num_"))
_LOSSES = frozenset("loss losses".split())
_PREDICTIONS = frozenset("pred preds prediction predictions logits logit".split())
# A number that only says how the loss went.
_OTHER = frozenset("weight weights scale mask target targets label labels cost".split())
_TESTS = frozenset("isnan isinf isfinite".split())
_REMEDY = "Find the operation that makes the NaN, or skip and count the whole step."
_TRAINS = pattern(r"loss|criterion|backward|cross_entropy")
# Where labels can be left out, all of them can be: the mean over none is NaN.
_NOTHING = pattern(r"^ignore_(?:index|label)$|^valid_mask$", re.IGNORECASE)
_EVALUATES = pattern(
    r"(?:^|_)(?:val|valid|validate|validation|eval|evaluate|evaluation|test|infer|inference|"
    r"predict|sample|generate|metric|metrics|plot|log|report|compute_metrics)(?:_|$)"
)


class NanToNumOnLoss(Rule):
    """NaN in the loss, in the predictions or in the gradients is replaced by a number.

    ## Why it matters
    This hides the failure and does not fix it: the model trains on zeros. On a scalar loss it does not even
    help: the gradients of a NaN loss stay NaN. Zeroed gradients make a run that cannot learn and cannot fail.

    ## Usual causes
    NaN turned up, and this made the message go away.

    ## What to do
    Find the operation that makes the NaN (a log or sqrt of 0, 0/0, an overflow in float16). Until then skip the whole
    step, count how often, and stop when it is too often.

    ## When it stays silent
    On inputs and targets, on matching costs, in evaluation, for an empty selection (`numel() == 0`, `ignore_index`), and with numpy.
    """

    card = Card("PM503", "nan-to-num-on-loss", "numerics-masked", Severity.WARNING)
    triggers = (b"nan_to_num", b".grad[")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call in source.calls_to("nan_to_num", "nan_to_num_"):
            names = from_elsewhere(source, call.func)
            if names and not source.names.all_in(call.func, _FUNCTIONS):
                continue
            subject = argument(call, "input", 0) if names else receiver(call)
            if subject is None or (isinstance(call.func, ast.Name) and not names):
                continue
            what = _masked(source, call, subject)
            if what and not _is_for_nothing(source, call) and not _without_grad(source, call):
                yield self.report(
                    source,
                    call,
                    f"NaN in {what} is replaced by a number here, which hides the failure",
                    remedy=_REMEDY,
                )
        for target in _by_index(source):
            yield self.report(
                source,
                target,
                "NaN in the gradients is replaced by a number here, which hides the failure",
                remedy=_REMEDY,
            )


def _by_index(source: Source) -> Iterator[ast.Subscript]:
    """`p.grad[torch.isnan(p.grad)] = 0`."""
    for statement in source.nodes(ast.Assign):
        target = statement.targets[0]
        if isinstance(target, ast.Subscript) and _is_gradient(target.value):
            tests = (target.slice, *source.within(target.slice))
            if any(isinstance(one, ast.Call) and last_name(one) in _TESTS for one in tests):
                yield target


def _masked(source: Source, call: ast.Call, subject: ast.expr) -> str:
    """What is masked, in words; "" when this rule does not cover it."""
    if _is_gradient(subject):
        return "the gradients"
    function = source.function(call)
    if function is not None and _EVALUATES.search(function.name):
        return ""
    targets = _targets(source, call)
    if any(_goes_backward(source, call, target) for target in targets):
        return "the loss"
    if any(_means(name, _LOSSES) for name in (dotted(subject), *targets)):
        return "the loss" if _trains(source, function, call) else ""
    if function is not None and _means(function.name, _LOSSES) and _is_returned(source, call):
        return "the loss"
    if any(_means(name, _PREDICTIONS) for name in (dotted(subject), *targets)):
        return "the predictions" if _trains(source, function, call) else ""
    return ""


def _is_gradient(subject: ast.expr) -> bool:
    while isinstance(subject, ast.Attribute) and subject.attr == "data":
        subject = subject.value
    return isinstance(subject, ast.Attribute) and subject.attr == "grad"


def _means(name: str, wanted: frozenset[str]) -> bool:
    found = words(name.rpartition(".")[2])
    return bool(found) and found[-1] in wanted and not _OTHER.intersection(found)


def _targets(source: Source, call: ast.Call) -> list[str]:
    """Names the result is bound to, through methods that follow: `x = nan_to_num(x).mean()`."""
    statement = source.statement(call)
    if not isinstance(statement, ast.Assign):
        return []
    value: ast.expr = statement.value
    while value is not call:
        inner = receiver(value) if isinstance(value, ast.Call) else None
        if inner is None:
            return []
        value = inner
    return [name for target in statement.targets if (name := dotted(target))]


def _goes_backward(source: Source, call: ast.Call, target: str) -> bool:
    scope = source.scope(call)
    statement = source.statement(call)
    for back in source.calls_to("backward"):
        subject = receiver(back)
        if subject is not None and dotted(subject) == target and source.scope(back) is scope:
            if any(one.statement is statement for one in source.flow(scope).definitions(subject)):
                return True
    return False


def _is_returned(source: Source, call: ast.Call) -> bool:
    return isinstance(source.parent(call), ast.Return)


def _trains(source: Source, function: Function | None, call: ast.Call) -> bool:
    """Whether the function computes a loss or goes backward: a prediction that is only shown may be masked."""
    owner = source.class_of(call)
    if function is not None and (
        _means(function.name, _LOSSES) or (owner is not None and "Loss" in owner.name)
    ):
        return True
    inside = source.within(function or source.tree)
    return any(
        isinstance(one, ast.Call) and one is not call and _TRAINS.search(last_name(one)) for one in inside
    )


def _is_for_nothing(source: Source, call: ast.Call) -> bool:
    """`if x.numel() == 0`, `if mask.sum() == 0`, or labels that are ignored: the NaN is that of an empty mean."""
    if mentions(source, source.scope(call), _NOTHING):
        return True
    for above in source.ancestors(call):
        if isinstance(above, (ast.If, ast.IfExp)):
            for node in (above.test, *source.within(above.test)):
                if isinstance(node, ast.Compare) and any(constant(one) in {0, 1} for one in node.comparators):
                    return True
                if isinstance(node, ast.Call) and last_name(node) in {"numel", "len"}:
                    return True
    return False


def _without_grad(source: Source, call: ast.Call) -> bool:
    if any(last_name(one) in WITHOUT_GRAD for one in source.contexts(call)):
        if not _is_gradient(call.args[0] if call.args else (receiver(call) or call)):
            return True
    # `print(nan_to_num(loss).item())`: shown, not trained on.
    shows = {"item", "print", "append", "info", "log"}
    return any(isinstance(above, ast.Call) and last_name(above) in shows for above in source.ancestors(call))
