from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from premortem.lint import drift, signatures
from premortem.lint.drift import Use, spelled
from premortem.lint.rule import Card, Diagnostic, Facts, Fix, Rule, Severity, Source

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


@dataclass(frozen=True, slots=True)
class _Refused:
    """A keyword that the newest allowed version refuses."""

    keyword: ast.keyword
    word: str
    gone: signatures.Minor | None  # the release that lost it; None when none ever had it
    older: bool  # an older version is allowed too, and takes it

    @classmethod
    def of(cls, keyword: ast.keyword, use: Use) -> _Refused:
        word = str(keyword.arg)
        names = [symbol.name for symbol in use.symbols]
        ends = (signatures.gone_since(symbol, word) for symbol in use.symbols)
        gone = max(filter(None, ends), default=None)
        taken = any(signatures.accepts(names, word, minor) is not False for minor in use.pin.minors)
        return cls(keyword, word, gone, gone is not None and taken)

    def is_verbose_of_scheduler(self, use: Use) -> bool:
        schedulers = all(symbol.name.startswith(SCHEDULERS) for symbol in use.symbols)
        return self.word == "verbose" and self.gone is not None and schedulers

    def remedy(self, use: Use, *, alone: bool) -> str:
        if self.is_verbose_of_scheduler(use):
            return "Leave `verbose=` out; print `scheduler.get_last_lr()` to see the rate."
        if self.gone is not None:
            return INSTEAD.get(self.word, f"Leave `{self.word}=` out.")
        newest = use.pin.newest or use.pin.minors[-1]
        known = sorted({word for symbol in use.symbols for word in symbol.keywords(newest)})
        return _hint(self.word, known, alone=alone)


def _what_happened(refused: list[_Refused], use: Use) -> str:
    """Such as: lost the keywords `a` and `b` in torch 2.7 and has no keyword `c`."""
    ends = sorted({one.gone for one in refused if one.gone is not None})
    parts = []
    for end in (*ends, None):
        words = [f"`{one.word}`" for one in refused if one.gone == end]
        if words:
            named = f"keyword{'s' if len(words) > 1 else ''} {_joined(words)}"
            parts.append(
                f"has no {named}" if end is None else f"lost the {named} in {use.package} {spelled(end)}"
            )
    return _joined(parts)


def _joined(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


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

    card = Card("PM580", "unknown-keyword", "api-drift", Severity.ERROR)
    triggers = drift.TRIGGERS

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if drift.is_patched(source):
            return
        for call, use in (*drift.calls(source, project), *drift.made_by_name(source, project)):
            refused = [one for one in call.keywords if one.arg is not None and self._is_refused(use, one.arg)]
            if refused and _is_certain(source, call, use):
                yield self._refusal(source, call, refused, use)
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

    def _refusal(self, source: Source, call: ast.Call, refused: list[ast.keyword], use: Use) -> Diagnostic:
        """One report for a call, about all of its keywords: they are fixed together."""
        lost = [_Refused.of(keyword, use) for keyword in refused]
        # Releases before the tables may have taken it.
        older = all(one.older for one in lost) or use.pin.allows_older
        if not any(one.gone for one in lost):
            tail = f"; {use.pin.here}" if use.pin.assumed else f" in {use.pin}"
        else:
            tail = f", which {use.pin} allows" if older else f"; {use.pin.here}"
        fix = None
        for one in lost:
            if one.is_verbose_of_scheduler(use):
                fix = Fix((source.without_argument(call, one.keyword),), safe=not one.older)
        return self.report(
            source,
            refused[0],
            f"`{use.name}` {_what_happened(lost, use)}{tail}",
            remedy=" ".join(dict.fromkeys(one.remedy(use, alone=len(lost) == 1) for one in lost)),
            fix=fix,
            severity=Severity.WARNING if older or use.pin.assumed else Severity.ERROR,
        )

    def _too_many(self, source: Source, surplus: ast.expr, use: Use) -> Diagnostic:
        newest = use.pin.newest or use.pin.minors[-1]
        places = [len(symbol.keywords(newest)) for symbol in use.symbols]
        older = any(minor < VERBOSE_GONE for minor in use.pin.minors)
        return self.report(
            source,
            surplus,
            f"`{use.name}` takes {max(places)} arguments in {use.package} {spelled(newest)}: the last one was `verbose`"
            + (f"; {use.pin} allows that version" if older else f"; {use.pin.here}"),
            remedy="Leave the last argument out.",
            severity=Severity.WARNING if older or use.pin.assumed else Severity.ERROR,
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


def _hint(word: str, known: list[str], *, alone: bool) -> str:
    """What to write instead. Beside other keywords it must say which one it is about."""
    subject = "It is" if alone else f"`{word}` is"
    numpy = signatures.NUMPY.get(word)
    if numpy in known:
        return f"{subject} called `{numpy}` here."
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.7)
    if near:
        return f"Did you mean `{near[0]}`?" if alone else f"For `{word}`, did you mean `{near[0]}`?"
    if not known:
        return "It takes no keywords."
    shown = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
    return f"It takes {shown}."
