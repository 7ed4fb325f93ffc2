"""What a diagnosis says, for a person and as JSON."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console as Terminal
from rich.table import Table
from rich.text import Text

from premortem import catalog
from premortem.changes import of
from premortem.why import sets, source, verdict
from premortem.why.director import Why
from premortem.why.verdict import (
    CANNOT_RUN,
    CAUSE,
    FAILED,
    HEALTHY,
    HELPS,
    HURTS,
    NOTHING,
    SKIPPED,
    UNKNOWN,
    Row,
)
from premortem.why.yardsticks import Gain, Yardstick

_WIDTH = 36
_STYLES = {HELPS: "bold green", HURTS: "yellow", FAILED: "dim", NOTHING: "", SKIPPED: "dim"}
_WORDS = {CAUSE: "bold red", HEALTHY: "bold green", UNKNOWN: "bold yellow", CANNOT_RUN: "bold yellow"}
_GENERIC = "learns-with-one-change"


class Rows:
    """One line for each trial, as soon as it is known."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def before(self, reported: Sequence[Mapping[str, Any]]) -> None:
        """What an earlier run of it has found."""
        for each in reported:
            said = f"{_place(each['where'])}{each['code']} {each['name']}: {each['message']}"
            self._print("found in the run", said, "bold" if each["severity"] == "error" else "")

    def as_it_is(self, done: Why) -> None:
        self._print("as it is", as_it_is(done), "bold")

    def add(self, row: Row, done: Why) -> None:
        if row.verdict == SKIPPED and row.question != "proposals":
            return
        self._print(row.title, row_words(row), _STYLES[row.verdict])

    def _print(self, title: str, text: str, style: str) -> None:
        line(self._terminal, title, text, style)
        self._terminal.file.flush()


def line(terminal: Terminal, title: str, text: str, style: str = "") -> None:
    """Two columns that are wrapped each by itself on a screen; one line for a program that reads it."""
    if not terminal.is_terminal:
        terminal.print(Text(f"{title:<{_WIDTH}} ") + Text(text, style), soft_wrap=True)
        return
    width = min(_WIDTH, terminal.width // 3)
    table = Table.grid(padding=(0, 1))
    table.add_column(width=width)
    table.add_column(width=terminal.width - width - 1, overflow="fold")
    table.add_row(Text(title), Text(text, style))
    terminal.print(table)


def as_it_is(done: Why) -> str:
    stick = main_stick(done)
    seeds = f"{len(done.seeds)} seeds" if len(done.seeds) > 1 else "1 seed"
    state = (
        "its loss is not finite or grows"
        if done.diverges
        else "it learns, but no evaluation gets better"
        if done.run.by_heart
        else "it learns"
        if done.learns
        else "it is not learning"
    )
    if stick is None:
        return f"{done.first.backwards} backward passes ({seeds}); nothing here says how well it learns"
    series = stick.read(done.first)
    return (
        f"{stick.name} {_number(_first(series))} → {_number(stick.value(done.first))} in {done.first.backwards} "
        f"backward passes ({seeds}, ±{done.chance[stick.name]:.2g}): {state}{_breaks(done)}"
    )


def _breaks(done: Why) -> str:
    return f". Then it fails: {done.first.ended}" if done.first.failed and done.first.ended else ""


def main_stick(done: Why) -> Yardstick | None:
    return next(iter(done.sticks), None)


def row_words(row: Row) -> str:
    if row.verdict in {FAILED, SKIPPED}:
        return f"{row.verdict}: {row.why}"
    gain = row.gain
    if not gain.yardstick:
        return f"{row.verdict:<8} {row.why or 'there is no measure to compare'}"
    return f"{row.verdict:<8} {effect(gain)}" + (f" ({row.why})" if row.why else "")


def effect(gain: Gain) -> str:
    return f"{gain.yardstick} {_number(gain.as_is)} → {_number(gain.changed)}"


def conclude(done: Why) -> None:
    done.verdict = verdict.conclude(
        done.rows,
        done.findings,
        learns=done.learns,
        diverges=done.diverges,
        judged=bool(done.sticks),
        seeds=len(done.seeds),
        start=start if (start := done.first.start_seconds) > done.first.seconds / 2 else 0.0,
    )


def show_end(done: Why, terminal: Terminal) -> None:
    terminal.print()
    if done.verdict is None or done.problem:
        why = done.problem or "it was interrupted before a verdict"
        terminal.print(Text(f"nothing could be tried: {why}" if done.problem else why, "bold"))
        if done.tail:
            terminal.print(Text("the last lines of the script:", "dim"), Text(done.tail, "dim"), sep="\n")
        return
    said = done.verdict
    listed = causes(done)
    if done.interrupted:
        terminal.print(Text("interrupted; this is what was known until then", "bold"))
    for number, cause in enumerate(listed):
        head = f"cause ({cause['certainty']})" if not number else f"also ({cause['certainty']})"
        text = f"{_place(cause['where'])}{cause['code']} {cause['name']}: {cause['message']}"
        line(terminal, head, text, "" if number else "bold")
    for row in said.notes if listed else ():  # else the sentence below says it
        line(terminal, "helps too", f"{row.title}: {effect(row.gain)}")
    if not listed or said.verdict == UNKNOWN:
        concluded = Text(f"{said.verdict}: {said.sentence}", _WORDS[said.verdict])
        terminal.print(concluded, soft_wrap=not terminal.is_terminal)
    if done.patch is not None:
        patch = done.patch
        word = "verified" if patch["verified"] else f"not verified, {patch['why']}"
        shown = f"{word}: {patch['metric']} {_number(patch['before'])} → {_number(patch['after'])}"
        line(terminal, "patch", shown)
        terminal.print(Text(patch["diff"].rstrip()), soft_wrap=True)
    if done.unlike:
        terminal.print(Text(seedless(done), "dim"), soft_wrap=not terminal.is_terminal)
    if done.silenced:
        terminal.print(Text(f"{done.silenced} silenced", "dim"))
    if done.note:
        terminal.print(Text(done.note, "dim"))


def seedless(done: Why) -> str:
    return (
        f"the script cannot be seeded: under the same seed its first loss was {done.unlike}. Trials were compared as runs of different "
        "seeds are; a small effect cannot be shown. Seed torch, numpy and random from a fixed number to see more"
    )


def _place(where: Mapping[str, Any]) -> str:
    if not where.get("file"):
        return ""
    here = Path.cwd()
    file = Path(where["file"])
    name = file.relative_to(here) if file.is_relative_to(here) else file
    return f"{name}:{where['line']} " if where.get("line") else f"{name} "


def causes(done: Why) -> list[dict[str, Any]]:
    """Proved ones first, with the code and line of what premortem has reported where it is the same; then what only premortem
    has reported."""
    if done.verdict is None:
        return []
    left = list(done.verdict.findings)
    sure: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    gone: set[str] = set()
    for row in done.verdict.causes:
        same = next((each for each in left if _same(row, each)), None)
        if same is not None:
            left.remove(same)
        is_sure = same is not None or (row.learning is not None and row.learning.certain)
        (sure if is_sure else others).append(_proved(row, same, done))
        gone |= {each["name"] for each in left if row.still is not None and each["name"] not in row.still}
    # What goes away with a change that helps follows from what was changed. What stays is more specific than something that
    # helps and that premortem has not seen to be wrong.
    stays = [
        _reported(each, done) for each in left if each["severity"] == "error" and each["name"] not in gone
    ]
    rest = [
        _reported(each, done) for each in left if each["severity"] != "error" and each["name"] not in gone
    ]
    follows = [_reported(each, done, follows=True) for each in left if each["name"] in gone]
    return [*sure, *stays, *others, *rest, *follows]


def _same(row: Row, finding: Mapping[str, Any]) -> bool:
    named = row.learning is not None and row.learning.finding == finding["name"]
    return named or bool(row.family == finding["family"])


def _proved(row: Row, same: Mapping[str, Any] | None, done: Why) -> dict[str, Any]:
    named = row.learning.finding if row.learning is not None else ""
    card = catalog.lookup(named or _GENERIC).card
    docs = [of("learning")[name].__doc__ or "" for name in sets.parts(row.change)]
    doc = " ".join(" ".join(each.partition("\n")[0].split()) for each in docs)
    shown = effect(row.gain)
    chance = done.chance.get(row.gain.yardstick, 0.0)
    said = f"{row.title}: {shown} (chance ±{chance:.2g}), and again under {_seeds(len(row.again))}. Changed: {doc}"
    where = source.where(row, done)
    if same is not None:
        said = f"{same['message'].rstrip('. ')}. Proved: {said}"
        where = same["where"] if same["where"].get("file") else where
    remedy = row.learning.remedy if row.learning is not None else ""
    return {
        "code": same["code"] if same is not None else card.code,
        "name": same["name"] if same is not None else card.name,
        "family": row.family,
        "certainty": "proved",
        "where": where,
        "message": said + (f" To do: {remedy}" if remedy and same is None else ""),
        "change": row.change,
        "effect": _effect(row.gain, chance),
    }


def _reported(finding: Mapping[str, Any], done: Why, *, follows: bool = False) -> dict[str, Any]:
    untried = [row for row in done.rows if _same(row, finding) and verdict.untried(row)]
    ending = "No change that I have removes it"
    if follows:
        ending = "It goes away with the change above"
    elif untried or not done.rows:
        ending = "No change was tried that may remove it"
    return {
        "code": finding["code"],
        "name": finding["name"],
        "family": finding["family"],
        "certainty": finding["certainty"],
        "where": finding["where"],
        "message": f"{finding['message'].rstrip('. ')}. {ending}.",
        "change": None,
        "effect": None,
    }


def _seeds(count: int) -> str:
    return "another seed" if count == 1 else f"{count} other seeds"


def _effect(gain: Gain, chance: float) -> dict[str, Any]:
    return {"metric": gain.yardstick, "as_is": gain.as_is, "changed": gain.changed, "noise": chance}


def _first(series: Any) -> float:
    return sorted(series[:3])[min(1, len(series) - 1)] if series else math.nan


def _number(value: float) -> str:
    return f"{value:.4g}"
