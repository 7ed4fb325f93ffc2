"""One file through the rules: read, sum up, check, silence what comments silence."""

import difflib
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from premortem.cards import Card
from premortem.findings import Severity
from premortem.lint import files, notebooks, problems
from premortem.lint.configs import SUFFIXES as CONFIGS
from premortem.lint.configs import Config
from premortem.lint.diagnostics import Diagnostic
from premortem.lint.parsing import Unreadable
from premortem.lint.project_facts import Facts, NotYet, Summary
from premortem.lint.rule import ConfigRule, Held, Rule
from premortem.lint.source import Source
from premortem.lint.summaries import summarise
from premortem.lint.tree import last_name
from premortem.settings.comments import Suppressions

TOO_LARGE = 4_000_000  # bytes of code: no file written by hand, and its tree would fill the memory
SMALL_CONFIG = 50_000  # bytes of YAML: written by hand, and read in a moment
LARGE_CONFIG = 200_000  # bytes: that is data
# What is written under these is there to fail.
EXPECTING = frozenset(("raises", "assertRaises", "assertRaisesRegex", "assert_raises"))


@dataclass(slots=True)
class Checked:
    """What one pass learned about one file."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    summary: Summary | None = None
    waiting: list[str] = field(default_factory=list)  # codes of rules that wait for the facts
    silenced: int = 0  # reports that comments silence

    def report(self, path: str, card: Card, message: str) -> None:
        """A report about the file as a whole."""
        self.diagnostics.append(Diagnostic.at(path, (None, 1, 1, 1, 1), card, message))

    def silence(self, meant: Callable[[Diagnostic], bool]) -> None:
        kept = [one for one in self.diagnostics if not meant(one)]
        self.silenced += len(self.diagnostics) - len(kept)
        self.diagnostics = kept

    def unreadable(self, path: str, problem: Unreadable) -> None:
        """A report about the place where reading failed."""
        span = (problem.cell, problem.line, problem.column, problem.line, problem.column)
        card = problems.UnreadableFile.card
        # The cells of a notebook are run one by one, or never.
        harmless = problem.cell is not None or problem.aside
        severity = Severity.INFO if harmless else card.severity
        self.diagnostics.append(Diagnostic.at(path, span, card, str(problem), severity=severity))


def all_rules() -> tuple[Rule | ConfigRule, ...]:
    from premortem.lint import rules

    return tuple(rule() for rule in rules.ALL)


def check_file(path: str, data: bytes, rules: Iterable[Rule | ConfigRule], project: Facts) -> Checked:
    """One file through these rules. Never raises because of what is in the file."""
    checked = Checked()
    try:
        if path.endswith(CONFIGS):
            _check_config(Config(path, data), rules, project, checked)
        else:
            _check_python(path, data, rules, project, checked)
    except Unreadable as problem:
        checked.unreadable(path, problem)
    except (RecursionError, MemoryError):
        checked.report(path, problems.UnreadableFile.card, "this file is nested too deeply to be read")
    return checked


def _check_python(
    path: str, data: bytes, rules: Iterable[Rule | ConfigRule], project: Facts, checked: Checked
) -> None:
    source = read(path, data, checked)
    try:
        checked.summary = _summary(source, checked)
        held = Held(source.data)
        for rule in rules:
            if rule.of_python and rule.wants(held):
                assert isinstance(rule, Rule)  # noqa: S101 - asked of the few that are left: that takes time
                _run(rule, path, rule.check(source, project), checked)
        checked.diagnostics = [one for one in checked.diagnostics if not _is_expected(source, one)]
        silent = Suppressions(source.data, python=True)
        if silent:
            _report_unknown_words(silent, path, checked, source)
            checked.silence(lambda one: _silenced(silent, one, source.lines_before(one.cell)))
    finally:
        source.release()


def _is_expected(source: Source, one: Diagnostic) -> bool:
    """Whether this stands in a block that says itself that it fails: `with pytest.raises(...)`, `assertRaises`."""
    line = one.line + source.lines_before(one.cell)
    return any(
        block.body[0].lineno <= line <= (block.end_lineno or line)
        for block in source.withs
        if any(last_name(item.context_expr) in EXPECTING for item in block.items)
    )


def read(path: str, data: bytes, checked: Checked) -> Source:
    """The source of a script or a notebook; what is wrong with single cells goes to `checked`."""
    if path.endswith(".ipynb"):
        source, broken = notebooks.read(path, data)
        for problem in broken:
            checked.unreadable(path, problem)
        return source
    if len(data) > TOO_LARGE:
        raise Unreadable(f"this file has {len(data) / 1e6:.1f} MB of code and was not checked")
    return Source.read(path, data, module=files.module_name(path))


def _check_config(
    config: Config, rules: Iterable[Rule | ConfigRule], project: Facts, checked: Checked
) -> None:
    if len(config.data) > LARGE_CONFIG:
        return
    asking = [rule for rule in rules if isinstance(rule, ConfigRule) and rule.wants(config.data)]
    if asking or len(config.data) <= SMALL_CONFIG or not config.yaml:
        _ = config.entries  # raises where it cannot be read, whether a rule has a question or not
    for rule in asking:
        _run(rule, config.path, rule.check(config, project), checked)
    silent = Suppressions(config.data, python=False)
    if silent:
        _report_unknown_words(silent, config.path, checked)
        checked.silence(lambda one: _silenced(silent, one))


def _silenced(silent: Suppressions, one: Diagnostic, before: int = 0) -> bool:
    """`before`: how many lines precede its cell in the joined source of a notebook."""
    return silent.silences({one.line + before, one.end_line + before}, one.card.code, one.card.name)


def _report_unknown_words(
    silent: Suppressions, path: str, checked: Checked, source: Source | None = None
) -> None:
    for line, column, end, word in silent.unknown(_spellings()):
        shown = word.upper() if word.startswith("pm") else word
        near = difflib.get_close_matches(word, _spellings(), n=1) if shown == word else []
        cell, first = source.cell_at(line) if source else (None, 0)
        span = (cell, line - first, column, line - first, end)
        message = f"no lint rule is called `{shown}`: this comment does not silence it"
        remedy = f"Did you mean `{near[0]}`?" if near else "Write the code that the report shows."
        card = problems.UnknownIgnore.card
        checked.diagnostics.append(Diagnostic.at(path, span, card, message, remedy=remedy))


@cache
def _spellings() -> frozenset[str]:
    """Every code and name a comment can use, in small letters."""
    from premortem.lint import rules

    cards = [unit.card for unit in (*rules.ALL, *problems.ALL)]
    return frozenset(word for card in cards for word in (card.code.lower(), card.name))


def _run(rule: Rule | ConfigRule, path: str, found: Iterator[Diagnostic], checked: Checked) -> None:
    try:
        checked.diagnostics += list(found)
    except NotYet:
        checked.waiting.append(rule.card.code)
    except Unreadable:
        raise
    except Exception as error:  # noqa: BLE001 - a rule that breaks must not take the others with it
        _report_failure(f"the rule {rule.card.code} {rule.card.name}", path, error, checked)


def _summary(source: Source, checked: Checked) -> Summary:
    try:
        return summarise(source)
    except Exception as error:  # noqa: BLE001 - likewise: only this summary is missing
        _report_failure("summing up", source.path, error, checked)
        return Summary()


def _report_failure(what: str, path: str, error: Exception, checked: Checked) -> None:
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    message = f"{what} failed on this file, in its own code ({where}); the other rules went on"
    checked.report(path, problems.RuleFailed.card, message)


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sorted by place, each once: both passes can report the same."""
    return sorted(dict.fromkeys(diagnostics), key=lambda diagnostic: diagnostic.sort_key)
