"""PM512 anomaly-mode-left-on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from premortem.cards import Card
from premortem.findings import Severity
from premortem.lint.diagnostics import Diagnostic
from premortem.lint.project_facts import Facts
from premortem.lint.rule import Rule
from premortem.lint.source import Source, argument, constant

_SETTERS = frozenset(("torch.autograd.set_detect_anomaly", "torch.autograd.anomaly_mode.set_detect_anomaly"))
_CONTEXTS = frozenset(("torch.autograd.detect_anomaly", "torch.autograd.anomaly_mode.detect_anomaly"))
_TRAINERS = frozenset(
    (
        "lightning.Trainer",
        "lightning.pytorch.Trainer",
        "pytorch_lightning.Trainer",
        "lightning.pytorch.trainer.Trainer",
        "pytorch_lightning.trainer.Trainer",
    )
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

    card: ClassVar[Card] = Card(
        code="PM512", name="anomaly-mode-left-on", family="throughput", severity=Severity.WARNING
    )
    triggers: ClassVar[tuple[bytes, ...]] = (b"detect_anomaly",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call in source.calls_to("set_detect_anomaly"):
            on = constant(argument(call, "mode", 0)) is True
            if on and source.names.all_in(call.func, _SETTERS) and self._for_good(source, call):
                yield self._said(source, call)
        for call in source.calls_to("detect_anomaly"):
            used = source.names.all_in(call.func, _CONTEXTS) and isinstance(source.parent(call), ast.withitem)
            if used and self._for_good(source, call):
                yield self._said(source, call)
        for call in source.calls_to("Trainer"):
            value = argument(call, "detect_anomaly")
            if constant(value) is True and source.names.all_in(call.func, _TRAINERS):
                if self._for_good(source, call):
                    yield self._said(source, call)

    @staticmethod
    def _for_good(source: Source, call: ast.Call) -> bool:
        for above in source.ancestors(call):
            if isinstance(above, (ast.If, ast.IfExp, ast.Try, ast.BoolOp)) and not _is_main(above):
                return False
            if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                if any(word in above.name.lower() for word in _MEANT):
                    return False
        scope = source.scope(call)
        switched = [one for one in source.calls_to("set_detect_anomaly") if source.scope(one) is scope]
        return not any(constant(argument(one, "mode", 0)) is not True for one in switched)

    def _said(self, source: Source, call: ast.Call) -> Diagnostic:
        return self.report(
            source,
            call,
            "anomaly mode stays on for the whole run and slows every step, up to five times",
            remedy="Remove it, or switch it on by an option only.",
        )


def _is_main(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and any(
        isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)
    )
