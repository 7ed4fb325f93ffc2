"""All files of a run: what the cache knows, what must be read, and the facts that join them.

first pass     every file that changed, in this process or in several
facts          joined from the summaries of all files; where a rule waits for them and only part of the project
               was named, from the files around it too
second pass    only files in which a rule had a suspicion it could not settle alone
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from premortem.cards import Card
from premortem.files import untrusted
from premortem.findings import Severity
from premortem.lint import cache as caching
from premortem.lint import engine, files, problems, selection, summaries
from premortem.lint.cache import Cache
from premortem.lint.diagnostics import Diagnostic
from premortem.lint.settings import Settings
from premortem.lint.summaries import Summary
from premortem.lint.target import Targets
from premortem.lint.workers import Task, Workers
from premortem.settings import matching
from premortem.terminal.progress import Progress

NEIGHBOURS = 1000  # files around the named ones that are summed up at most
LOOKED_AT = 20_000  # names of files read to find them: a folder can hold anything
_NOTHING: tuple[list[Any], int] = ([], 0)  # reports of the second pass, and how many more are silenced
REMEMBERED = 4  # sets of facts for which a file keeps its answers


@dataclass(frozen=True, slots=True)
class Plan:
    """What is the same for every file of a run."""

    root: Path
    settings: Settings = field(default_factory=Settings)
    targets: Targets | None = None
    codes: tuple[str, ...] = ()  # of the rules that run
    whole: bool = True  # False: files around the named ones may be read for facts


def plan(root: Path, asked: Settings, *, whole: bool) -> Plan:
    """From settings to what runs."""
    rules = selection.chosen(engine.all_rules(), asked)
    codes = tuple(rule.card.code for rule in rules)
    return Plan(root, asked, Targets(root, asked.torch), codes, whole)


@dataclass(slots=True)
class Outcome:
    """What a run found."""

    diagnostics: list[Diagnostic]
    files: int
    contents: dict[str, str] = field(default_factory=dict)  # hashes of what was checked, by path
    silenced: int = 0  # reports that comments or the settings for their file silence


def check(paths: Sequence[str], plan: Plan, folder: Path | None, progress: Progress) -> Outcome:
    """Check these files. `folder` holds the cache; None does without."""
    rules = [rule for rule in engine.all_rules() if rule.card.code in plan.codes]
    cache = Cache(folder, caching.key(rules, plan.settings))
    workers = Workers(plan.codes, plan.root, plan.targets, progress)
    try:
        entries = _first_pass(paths, cache, workers)
        _second_pass(entries, plan, folder, cache, workers)
    finally:
        workers.close()
    cache.save()
    cards = {rule.card.code: rule.card for rule in rules}
    cards.update({unit.card.code: unit.card for unit in problems.ALL})
    contents = {path: entry["hash"] for path, entry in entries.items()}
    silenced = sum(entry["silenced"] + entry.get("now", _NOTHING)[1] for entry in entries.values())
    found = _collect(entries, cards)
    kept = engine.in_order(wanted(found, plan))
    silenced += len(found) - len(kept)
    return Outcome(kept, len(paths), contents, silenced)


def _first_pass(paths: Sequence[str], cache: Cache, workers: Workers) -> dict[str, dict[str, Any]]:
    """An entry for every path: from the cache where the file is as it was."""
    known: dict[str, dict[str, Any] | None] = {path: _remembered(path, cache, workers) for path in paths}
    tasks = [Task(path) for path, entry in known.items() if entry is None]
    for path, entry in workers.run(tasks):
        known[path] = entry
        cache.put(os.path.abspath(path), entry)  # noqa: PTH100 - once for every file
    return {path: entry for path, entry in known.items() if entry is not None}


def _remembered(path: str, cache: Cache, workers: Workers) -> dict[str, Any] | None:
    full = os.path.abspath(path)  # noqa: PTH100 - once for every file
    try:
        stat = os.stat(full)  # noqa: PTH116 - likewise
    except OSError:
        return None
    place = workers.place(full)
    if found := cache.unchanged(full, stat, place):
        return found
    if not cache.has(full):
        return None
    try:
        content = caching.hash_of(untrusted.read(full))
    except OSError:
        return None
    return cache.same_content(full, content, stat, place)


def _second_pass(
    entries: dict[str, dict[str, Any]], plan: Plan, folder: Path | None, cache: Cache, workers: Workers
) -> None:
    """Settles what waits for the facts; adds the answers to the entries under "now"."""
    waiting = {path: entry for path, entry in entries.items() if entry["waiting"]}
    if not waiting:
        return
    known = [summaries.from_json(entry["summary"]) for entry in entries.values() if entry["summary"]]
    if not plan.whole:
        known += around(entries, plan, folder, workers)
    whole = summaries.join(known)
    name = caching.digest(summaries.as_json(whole))
    tasks = []
    for path, entry in waiting.items():
        if name in entry["later"]:
            entry["now"] = entry["later"][name]
        else:
            tasks.append(Task(path, tuple(entry["waiting"]), whole))
    for path, entry in workers.run(tasks):
        kept = waiting[path]
        kept["now"] = kept["later"][name] = [entry["diagnostics"], entry["silenced"]]
        for old in list(kept["later"])[:-REMEMBERED]:
            del kept["later"][old]
        cache.touch()


def around(entries: Iterable[str], plan: Plan, folder: Path | None, workers: Workers) -> list[Summary]:
    """Summaries of the project's other files: a rule must not blame one file for what another one does."""
    named = {os.path.abspath(path) for path in entries}  # noqa: PTH100 - once for every file

    def excluded(path: str) -> bool:
        return is_excluded(path, plan)

    others = [
        path
        for path in islice(files.below(str(plan.root.absolute()), excluded), LOOKED_AT)
        if path.endswith(".py") and os.path.abspath(path) not in named  # noqa: PTH100 - likewise
    ]
    # The nearest first: those that share most of their path with a named file.
    near = next(iter(sorted(named)), "")
    others.sort(key=lambda path: -len(os.path.commonpath([near, path])))
    own = Cache(folder, caching.digest("summaries", caching.key((), Settings())))
    summing = workers.summing()
    try:
        found = _first_pass(others[:NEIGHBOURS], own, summing)
    finally:
        summing.close()
    own.save()
    return [summaries.from_json(entry["summary"]) for entry in found.values() if entry["summary"]]


def is_excluded(path: str, plan: Plan) -> bool:
    return any(matching.matches_path(path, pattern, str(plan.root)) for pattern in plan.settings.exclude)


def _collect(entries: dict[str, dict[str, Any]], cards: dict[str, Card]) -> list[Diagnostic]:
    return [
        caching.unpack(record, path, cards)
        for path, entry in entries.items()
        for record in (*entry["diagnostics"], *entry.pop("now", _NOTHING)[0])
    ]


def wanted(found: Iterable[Diagnostic], plan: Plan) -> Iterator[Diagnostic]:
    """Without what the settings ignore, here or everywhere; as grave as they say."""
    for one in found:
        if not selection.ignored_here(one.card, one.path, plan.root, plan.settings):
            if not any(matching.matches(one.card, word) for word in plan.settings.ignore):
                severities = plan.settings.severity.items()
                said = [severity for word, severity in severities if matching.matches(one.card, word)]
                yield replace(one, severity=Severity(said[-1])) if said else one
