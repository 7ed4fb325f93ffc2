"""PM580 unknown-keyword."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from typing import ClassVar

from premortem.cards import Card
from premortem.findings import Severity
from premortem.lint import drift, signatures
from premortem.lint.diagnostics import Diagnostic, Fix
from premortem.lint.drift import Use, spelled
from premortem.lint.facts import Facts
from premortem.lint.rule import Rule
from premortem.lint.source import Source

# Functions that hand unknown keywords to something that refuses them, with what it does take.
HANDED_ON = {"torch.load": frozenset("encoding errors fix_imports buffers".split())}
SCHEDULERS = "torch.optim.lr_scheduler."
VERBOSE_GONE = (2, 7)
# What to write for a keyword that is gone, where it is not simply left out.
INSTEAD = {
    "gpus": 'Give `accelerator="gpu", devices=…`.',
    "tpu_cores": 'Give `accelerator="tpu", devices=…`.',
    "auto_select_gpus": 'Give `devices="auto"`.',
    "resume_from_checkpoint": "Give `ckpt_path=` to `trainer.fit`.",
    "replace_sampler_ddp": "It is called `use_distributed_sampler` now.",
    "evaluation_strategy": "It is called `eval_strategy` now.",
    "no_cuda": "It is called `use_cpu` now.",
    "tokenizer": "It is called `processing_class` now.",
    "per_gpu_train_batch_size": "It is called `per_device_train_batch_size` now.",
    "per_gpu_eval_batch_size": "It is called `per_device_eval_batch_size` now.",
    "use_cuda": "Give `activities=[…]` with `ProfilerActivity.CUDA`.",
}


class UnknownKeyword(Rule):
    """A call uses a keyword that the function does not take in the version this project runs with.

    ## Why it matters
    The call raises TypeError. When it stands behind hours of training (a scheduler that is built late, an export, a
    final evaluation), that is when it raises.

    ## Usual causes
    The keyword was removed: schedulers lost `verbose` in torch 2.7, and with it their last place for an argument. Or it is misspelled, or belongs to a relative of
    the function: numpy's `axis` works for functions that torch parses in C++, not for `F.softmax`.

    ## What to do
    Use the keyword the message names, or leave it out. `--fix` removes `verbose=` from schedulers. Say which version
    the project runs with by `--torch 2.4`, or in pyproject.toml: `[tool.premortem.lint] torch = "2.4"`.

    ## When it stays silent
    When the name can come from several imports and one of them takes the keyword; when the call is in a `try` that
    catches TypeError or under a condition about versions; when the function takes any keyword; in files that use a
    vendor's package which changes torch, such as torch_npu.
    """

    card: ClassVar[Card] = Card(
        code="PM580", name="unknown-keyword", family="api-drift", severity=Severity.ERROR
    )
    triggers: ClassVar[tuple[bytes, ...]] = drift.TRIGGERS

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if drift.is_patched(source):
            return
        for call, use in (*drift.calls(source, project), *drift.made_by_name(source, project)):
            for keyword in call.keywords:
                if keyword.arg is not None and self._is_refused(use, keyword.arg):
                    if _is_certain(source, call, use):
                        yield self._said(source, call, keyword, use)
            surplus = _surplus(call, use)
            if surplus is not None and _is_certain(source, call, use):
                yield self._too_many(source, surplus, use)

    @staticmethod
    def _is_refused(use: Use, keyword: str) -> bool:
        newest = use.pin.newest
        if newest is None:
            return False
        names = [symbol.name for symbol in use.symbols]
        if all(name in HANDED_ON for name in names):
            return not any(
                keyword in HANDED_ON[symbol.name] or symbol.has(keyword, newest) for symbol in use.symbols
            )
        if signatures.accepts(names, keyword, newest) is not False:
            return False
        # What only later releases take is too new, and another rule's business.
        return not any(_is_later(signatures.since(symbol, keyword), newest) for symbol in use.symbols)

    def _said(self, source: Source, call: ast.Call, keyword: ast.keyword, use: Use) -> Diagnostic:
        word = str(keyword.arg)
        newest = use.pin.newest or use.pin.minors[-1]
        names = [symbol.name for symbol in use.symbols]
        gone = max(
            filter(None, (signatures.gone_since(symbol, word) for symbol in use.symbols)), default=None
        )
        older = [
            minor
            for minor in use.pin.minors
            if gone is not None and signatures.accepts(names, word, minor) is not False
        ]
        severity = Severity.WARNING if older else Severity.ERROR
        if gone is not None:
            message = f"`{use.name}` lost the keyword `{word}` in {use.package} {spelled(gone)}"
            message += f", which {use.pin} allows" if older else f"; the version here is {use.pin}"
            remedy = INSTEAD.get(word, f"Leave `{word}=` out.")
        else:
            message = f"`{use.name}` has no keyword `{word}` in {use.pin}"
            remedy = _hint(word, sorted({k for symbol in use.symbols for k in symbol.keywords(newest)}))
        fix = None
        if word == "verbose" and gone is not None and all(name.startswith(SCHEDULERS) for name in names):
            remedy = "Leave `verbose=` out; print `scheduler.get_last_lr()` to see the rate."
            fix = Fix((source.without_argument(call, keyword),), safe=not older)
        return self.report(source, keyword, message, remedy=remedy, fix=fix, severity=severity)

    def _too_many(self, source: Source, surplus: ast.expr, use: Use) -> Diagnostic:
        newest = use.pin.newest or use.pin.minors[-1]
        places = [len(symbol.keywords(newest)) for symbol in use.symbols]
        older = any(minor < VERBOSE_GONE for minor in use.pin.minors)
        return self.report(
            source,
            surplus,
            f"`{use.name}` takes {max(places)} arguments in {use.package} {spelled(newest)}: the last one was `verbose`"
            + (f"; {use.pin} allows that version" if older else f"; the version here is {use.pin}"),
            remedy="Leave the last argument out.",
            severity=Severity.WARNING if older else Severity.ERROR,
        )


def _is_certain(source: Source, call: ast.Call, use: Use) -> bool:
    return not drift.is_hidden(source, use.node) and not drift.is_guarded(source, call, drift.CATCHES_REFUSED)


def _surplus(call: ast.Call, use: Use) -> ast.expr | None:
    """The argument by position that a scheduler no longer has a place for."""
    newest = use.pin.newest
    if newest is None or newest < VERBOSE_GONE or (call.func is not use.node and not _is_super(call)):
        return None
    if not all(symbol.name.startswith(SCHEDULERS) and "verbose" in symbol.items for symbol in use.symbols):
        return None
    places = max(len(symbol.keywords(newest)) for symbol in use.symbols)
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    return call.args[places] if len(call.args) == places + 1 and not starred else None


def _is_super(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"


def _is_later(since: signatures.Minor | None, newest: signatures.Minor) -> bool:
    return since is not None and since > newest


def _hint(word: str, known: list[str]) -> str:
    numpy = signatures.NUMPY.get(word)
    if numpy in known:
        return f"It is called `{numpy}` here."
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.7)
    if near:
        return f"Did you mean `{near[0]}`?"
    if not known:
        return "It takes no keywords."
    shown = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
    return f"It takes {shown}."
