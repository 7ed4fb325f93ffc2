"""What a change is in the user's source: its file and line, a diff, and whether the script learns with it."""

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from premortem.changes import of
from premortem.lint import fixes
from premortem.lint.diagnostics import Fix, edited
from premortem.lint.parsing import Unreadable
from premortem.lint.source import Source
from premortem.why import sets
from premortem.why.director import Director, Proposal, Why
from premortem.why.proposals import scaled_rate
from premortem.why.verdict import FAILED, HELPS, Row

_MOST = 40  # files of the user's that are read

# The fact of a run at whose line the mistake stands that a change removes.
_FACTS = {
    "no-clipping": "clips",
    "rate-constant": "schedules",
    "unfrozen": "frozen",
    "train-mode": "eval_with_gradients",
    "eval-mode": "train_without_gradients",
    "float32": "low_precision",
    "fresh-gradients": "stale_gradients",
    "everything-owned": "rate",
    "no-activation-before-loss": "squashed",
    "same-shapes": "mismatched",
    "inputs-standardised": "odd_inputs",
    "shuffled": "unshuffled",
    "no-augmentation": "augments",
    "no-dropout": "dropout",
    "eager": "compiled",
    "batch-norm-on-batch": "kept_statistics",
    "another-split": "splits",
    "no-activation-before-error": "bounded",
    "scores-scaled": "odd_scores",
    "usual-settings": "odd_settings",
    "relu-between-layers": "sigmoid_layers",
    "plain-adam": "rate",
    "plain-sgd": "rate",
    "loss-sign-flipped": "negative_loss",
    "first-term-silent": "terms",
    "first-term-alone": "terms",
    "second-term-silent": "terms",
    "second-term-alone": "terms",
    "third-term-silent": "terms",
    "third-term-alone": "terms",
}
_OF_THE_RATE = ("rate-", "no-weight-decay")


def where(row: Row, done: Why) -> dict[str, Any]:
    """The line of the source that the change would alter; else the line where what it removes was seen."""
    place: list[Any] = []
    for path, source, fix in edits(row.change, done.first.files):
        place = [path, source.data[: min(edit.start for edit in fix.edits)].count(b"\n") + 1]
        break
    if not place:
        change = sets.parts(row.change)[0]
        fact = "rate" if change.startswith(_OF_THE_RATE) else _FACTS.get(change, "")
        if change == "fresh-gradients" and fact not in done.first.where:
            fact = "cleared_before_step"
        place = done.first.where.get(fact) or [None, None]
    return {"file": place[0], "line": place[1], "module": None, "parameter": None}


def edits(change: str, files: Iterable[str]) -> Iterable[tuple[str, Source, Fix]]:
    """The files in which the change has a place."""
    makes = [cls.edit for name in sets.parts(change) if (cls := of("learning").get(name)) is not None]
    if not makes or None in makes:
        return
    for path in list(files)[:_MOST]:
        try:
            source = Source.read(path, Path(path).read_bytes())
            fixes = [make(source) for make in makes if make is not None]
        except (OSError, Unreadable):
            continue
        made = [edit for fix in fixes if fix is not None for edit in fix.edits]
        if made:
            yield path, source, Fix(tuple(made), safe=False)


def diff(before: Mapping[str, str], after: Mapping[str, str], root: Path) -> str:
    return "".join(fixes.diff(_name(path, root), before[path], text) for path, text in after.items())


def _name(path: str, root: Path) -> str:
    try:
        return str(Path(path).relative_to(root))
    except ValueError:
        return path


def proposal(row: Row, done: Why, root: Path) -> Proposal | None:
    """The change as an edit of the source, where it has one that still parses."""
    before, after = {}, {}
    for path, source, fix in edits(row.change, done.first.files):
        text = edited(source.data, fix.edits).decode()
        try:
            ast.parse(text)
        except SyntaxError:
            continue
        before[path], after[path] = source.data.decode(), text
    return Proposal(row.title, files=after, diff=diff(before, after, root), before=before) if after else None


def verify(director: Director, done: Why, proposed: Iterable[Proposal]) -> None:
    """Runs the script with the fix of the first cause that has one, or with the proposal that helped most."""
    if done.verdict is None:
        return
    root = Path(director.run.cwd)
    broken = any(each["severity"] == "error" for each in done.verdict.findings)
    for row in done.verdict.causes:
        if broken and row.learning is not None and not row.learning.mistake and not row.supported:
            continue  # a setting that hides what premortem has measured
        made = proposal(row, done, root)
        named = made is not None  # else a config that the script may not even read
        made = made or _in_config(row, director, done)
        if made is None:
            continue
        director.options.shown.say("the patch")
        tried = Row("", made.name, "proposals", "")
        tried.learning = row.learning
        director.propose(tried, made)
        if named or tried.verdict == HELPS:
            done.patch = _patch(made, tried)
        if tried.verdict == HELPS:
            return
    helped = [
        (row, each)
        for row, each in zip([row for row in done.rows if row.question == "proposals"], proposed, strict=True)
        if row.verdict == HELPS and each.diff
    ]
    if helped and (done.patch is None or not done.patch["verified"]):
        row, each = max(helped, key=lambda pair: pair[0].gain.size)
        done.patch = _patch(each, row)


def _in_config(row: Row, director: Director, done: Why) -> Proposal | None:
    factor = getattr(of("learning").get(row.change), "factor", 1.0)
    if factor == 1.0:
        return None
    return scaled_rate(factor, done.first.files, director.options.argv, director.run.cwd)


def _short_of(tried: Row) -> str:
    if tried.verdict == FAILED:
        return f"the script fails with it ({tried.why})"
    return "not better under every seed" if tried.verdict == HELPS else "it does not help as much"


def _patch(made: Proposal, tried: Row) -> dict[str, Any]:
    helps = tried.verdict == HELPS
    return {
        "diff": made.diff,
        "verified": helps and all(gain > 0 for gain in tried.again),
        "why": "" if helps and all(gain > 0 for gain in tried.again) else _short_of(tried),
        "before": tried.gain.as_is,
        "after": tried.gain.changed,
        "metric": tried.gain.yardstick,
        "files": made.files,
        "before_files": made.before,
    }
