"""Files in, diagnostics out: read, sum up, check; then once more where a rule needed to know the whole project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from premortem.lint import files, notebooks, problems
from premortem.lint.configs import SUFFIXES, Config
from premortem.lint.diagnostics import Diagnostic
from premortem.lint.facts import Facts, NotYet, Summary, summarise
from premortem.lint.rule import ConfigRule, Rule
from premortem.lint.source import Source, Unreadable


@dataclass(slots=True)
class Checked:
    """What the first pass learned about one file."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    summary: Summary | None = None
    waiting: list[str] = field(default_factory=list)  # codes of rules that wait for the facts


def all_rules() -> tuple[Rule | ConfigRule, ...]:
    from premortem.lint import rules

    return tuple(rule() for rule in rules.ALL)


def check_file(path: str, data: bytes, rules: Iterable[Rule | ConfigRule], project: Facts) -> Checked:
    """One file through these rules. Never raises because of what is in the file."""
    checked = Checked()
    if path.endswith(SUFFIXES):
        _check_config(Config(path, data), rules, project, checked)
        return checked
    try:
        if path.endswith(".ipynb"):
            source, broken = notebooks.read(path, data)
            checked.diagnostics += [unreadable(path, problem, cell) for cell, problem in broken]
        else:
            source = Source.read(path, data, module=files.module_name(path))
    except Unreadable as problem:
        checked.diagnostics.append(unreadable(path, problem))
        return checked
    checked.summary = summarise(source)
    for rule in rules:
        if isinstance(rule, Rule) and rule.wants(source.data):
            _run(rule, rule.check(source, project), checked)
    return checked


def _check_config(
    config: Config, rules: Iterable[Rule | ConfigRule], project: Facts, checked: Checked
) -> None:
    for rule in rules:
        if isinstance(rule, ConfigRule) and rule.wants(config.data):
            try:
                _run(rule, rule.check(config, project), checked)
            except Unreadable as problem:
                checked.diagnostics.append(unreadable(config.path, problem))
                return


def _run(rule: Rule | ConfigRule, found: Iterator[Diagnostic], checked: Checked) -> None:
    try:
        checked.diagnostics += list(found)
    except NotYet:
        checked.waiting.append(rule.card.code)


def unreadable(path: str, problem: Unreadable, cell: int | None = None) -> Diagnostic:
    card = problems.UnreadableFile.card
    return Diagnostic(
        path=path,
        cell=cell,
        line=problem.line,
        column=problem.column,
        end_line=problem.line,
        end_column=problem.column,
        card=card,
        message=str(problem),
        severity=card.severity,
    )


def lint(paths: Sequence[str], root: Path, rules: Sequence[Rule | ConfigRule]) -> list[Diagnostic]:
    """Check these files with the facts of all of them."""
    first = Facts(root)
    checked = {path: check_file(path, Path(path).read_bytes(), rules, first) for path in paths}
    facts = Facts(root, summaries=[one.summary for one in checked.values() if one.summary is not None])
    for path, one in checked.items():
        if one.waiting:
            again = [rule for rule in rules if rule.card.code in one.waiting]
            one.diagnostics += check_file(path, Path(path).read_bytes(), again, facts).diagnostics
    found = {diagnostic: None for one in checked.values() for diagnostic in one.diagnostics}
    return sorted(found, key=lambda diagnostic: diagnostic.sort_key)
