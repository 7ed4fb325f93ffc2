import ast
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.tree import argument, constant

_SETTERS = frozenset(("torch.autograd.set_detect_anomaly", "torch.autograd.anomaly_mode.set_detect_anomaly"))
_CONTEXTS = frozenset(("torch.autograd.detect_anomaly", "torch.autograd.anomaly_mode.detect_anomaly"))
_TRAINERS = frozenset(
    f"{package}.Trainer"
    for package in "lightning lightning.pytorch lightning.pytorch.trainer pytorch_lightning "
    "pytorch_lightning.trainer".split()
)
_MEANT = ("debug", "anomaly", "test", "check", "replay", "profile", "nan")


class AnomalyModeLeftOn(Rule):
    """Autograd's anomaly mode is switched on for the whole run.

    ## Why it matters
    It records a stack trace for every operation and checks every gradient for NaN: a step takes 1.2 to 5 times as
    long (4.2 times for a GPT-2 of 124 M parameters on an H200). It finds nothing while all is well.

    ## Usual causes
    The line was put in to look for a NaN and stayed.

    ## What to do
    Take it out, or hang it on an option. To look into one bad step, repeat that step alone in anomaly mode.

    ## When it stays silent
    Under any condition, in a function whose name says that it is for debugging or testing, and when it is switched
    off again in the same function.
    """

    card = Card("PM512", "anomaly-mode-left-on", "throughput", Severity.WARNING)
    triggers = (b"detect_anomaly",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call in _switched_on(source):
            if self._for_good(source, call):
                yield self.report(
                    source,
                    call,
                    "anomaly mode stays on for the whole run and makes every step up to five times as slow",
                    remedy="Remove it, or switch it on by an option only.",
                )

    @staticmethod
    def _for_good(source: Source, call: ast.Call) -> bool:
        for above in source.ancestors(call):
            if isinstance(above, (ast.If, ast.IfExp, ast.Try, ast.BoolOp)) and not _is_main(above):
                return False
            if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                if any(word in above.name.lower() for word in _MEANT):
                    return False
        if any(word in source.path.replace("\\", "/").rpartition("/")[2].lower() for word in _MEANT):
            return False
        scope = source.scope(call)
        switched = [one for one in source.calls_to("set_detect_anomaly") if source.scope(one) is scope]
        return not any(constant(argument(one, "mode", 0)) is not True for one in switched)


def _switched_on(source: Source) -> Iterator[ast.Call]:
    """The calls that switch anomaly mode on."""
    for call in source.calls_to("set_detect_anomaly"):
        if constant(argument(call, "mode", 0)) is True and source.names.all_in(call.func, _SETTERS):
            yield call
    for call in source.calls_to("detect_anomaly"):
        if source.names.all_in(call.func, _CONTEXTS) and isinstance(source.parent(call), ast.withitem):
            yield call
    for call in source.calls_to("Trainer"):
        on = constant(argument(call, "detect_anomaly")) is True
        if on and source.names.all_in(call.func, _TRAINERS):
            yield call


def _is_main(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and any(
        isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)
    )
