"""What a drill says, for a person and as JSON."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rich.console import Console as Terminal
from rich.text import Text

from premortem import __version__, changes
from premortem.drill.director import Drill
from premortem.drill.scoring import CAUGHT, MISSED, OUTCOMES, Clean, Score
from premortem.files.plain import dumps

_STYLES = {CAUGHT: "green", MISSED: "bold red"}


class Rows:
    """One line for each mutant, as soon as it is known."""

    def __init__(self, terminal: Terminal, names: Iterable[str]) -> None:
        self._terminal = terminal
        self._widths = (max(map(len, names)), max(map(len, OUTCOMES)), 20, 5, 7)
        self._begun = False

    def add(self, score: Score) -> None:
        if not self._begun:
            self._begun = True
            self._print("dim", "mutant", Text(), "family", "step", "seconds", "what was reported")
        self._print("", *_row(score))

    def _print(self, style: str, *cells: Text | str) -> None:
        line = Text(style=style)
        for cell, width in zip(cells, (*self._widths, 0), strict=True):
            text = cell if isinstance(cell, Text) else Text(cell)
            line.append_text(text)
            line.append(" " * max(1, width + 1 - len(text)) if width else "")
        line.rstrip()
        self._terminal.print(line, soft_wrap=True)
        self._terminal.file.flush()


def show_end(done: Drill, terminal: Terminal) -> None:
    """What follows from all of them."""
    if done.clean is None:
        why = done.problem or "it was interrupted before the script had run as it is"
        terminal.print(Text(f"nothing was drilled: {why}", "bold"))
        if done.tail:
            terminal.print(Text("the last lines of the script:", "dim"), Text(done.tail, "dim"), sep="\n")
        return
    terminal.print()
    if done.interrupted:
        terminal.print(Text(f"interrupted after {len(done.scores)} of {done.asked} mutants", "yellow"))
    for line in (verdict(done), *about_clean(done.clean)):
        terminal.print(Text(line, "bold" if line == verdict(done) else ""))


def _row(score: Score) -> tuple[Text | str, ...]:
    outcome = Text(score.outcome, _STYLES.get(score.outcome, "dim"))
    if score.caught_by is None:
        return score.mutant, outcome, "", "", "", score.detail or (_about(score) if score.effective else "")
    finding = score.caught_by
    family = finding.family if score.right_family else f"{finding.family} (not expected)"
    seconds = f"{finding.seconds:.1f}" if finding.seconds is not None else "end"
    return score.mutant, outcome, family, str(finding.step), seconds, f"{finding.code} {finding.name}"


def _about(score: Score) -> str:
    return (changes.of("harm")[score.mutant].__doc__ or "").partition("\n")[0]


def verdict(done: Drill) -> str:
    effective, caught = len(done.effective), len(done.caught)
    if not effective:
        return "no mutant took effect in this script"
    right = sum(score.right_family for score in done.caught)
    idle = len(done.scores) - effective
    verbs = "does not apply or changes" if idle == 1 else "do not apply or change"
    rest = f"; {idle} {verbs} nothing" if idle else ""
    return (
        f"{caught} of {effective} mutants that took effect were caught, {right} with the right family{rest}"
    )


def about_clean(clean: Clean) -> list[str]:
    lines = []
    alarms = clean.false_alarms
    if alarms:
        named = ", ".join(f"{finding.code} {finding.name} at step {finding.step}" for finding in alarms)
        lines.append(f"on the script as it is: {named}. A mutant is not counted as caught by these.")
    else:
        lines.append(f"on the script as it is: no alarm in {clean.watched.steps} steps")
    if clean.overhead is not None and clean.alone.step_seconds is not None:
        lines.append(
            f"a step takes {clean.alone.step_seconds * 1e3:.2f} ms alone and {clean.overhead:.2f} times that watched"
        )
    if not clean.repeats:
        lines.append(
            "two runs of the script differ by themselves, so a mutant counts as effective where it did something"
        )
    if note := clean.watched.sandbox.get("note"):
        lines.append(str(note))
    return lines


def record(done: Drill) -> str:
    clean = done.clean
    text = dumps(
        {
            "premortem": __version__,
            "problem": done.problem,
            "interrupted": done.interrupted,
            "asked": done.asked,
            "score": len(done.caught) / len(done.effective) if done.effective else None,
            "effective": len(done.effective),
            "caught": len(done.caught),
            "right_family": sum(score.right_family for score in done.caught),
            "clean": _clean(clean) if clean is not None else None,
            "mutants": [_score(each) for each in done.scores],
        },
        indent=2,
    )
    return text + "\n"


def _clean(clean: Clean) -> dict[str, Any]:
    return {
        "steps": clean.alone.steps,
        "whole": not clean.alone.cut,
        "repeats": clean.repeats,
        "overhead": clean.overhead,
        "step_seconds": clean.alone.step_seconds,
        "step_seconds_watched": clean.watched.step_seconds,
        "false_alarms": [asdict(finding) for finding in clean.false_alarms],
        "sandbox": clean.watched.sandbox,
    }


def _score(score: Score) -> dict[str, Any]:
    cls, finding = changes.of("harm")[score.mutant], score.caught_by
    return {
        "name": score.mutant,
        "about": _about(score),
        "expected": sorted(cls.harm.families) if cls.harm is not None else [],
        "took_effect": score.effective,
        "caught": score.outcome == CAUGHT,
        "outcome": score.outcome,
        "detail": score.detail,
        "right_family": score.right_family,
        "step": finding.step if finding is not None else None,
        "seconds": finding.seconds if finding is not None else None,
        "finding": asdict(finding) if finding is not None else None,
        "others": [asdict(each) for each in score.others],
    }
