"""The part of the verdict page that is about data."""

import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from premortem.amounts import count, share, size
from premortem.derived.folding import fold
from premortem.files import kept
from premortem.files.syntax import numbers_asked
from premortem.findings import Finding
from premortem.preflight.data import dataset, names, sampling
from premortem.preflight.data.checks import ALL
from premortem.preflight.data.code import habits, joined
from premortem.preflight.data.code.opened import Opened, fits, is_surely_data, opened, patterns, tops
from premortem.preflight.data.data_facts import DataFacts, Length, Miss, Root
from premortem.preflight.data.readers.raw import stored_type
from premortem.preflight.data.walk import walk
from premortem.preflight.project import Part, Project, Tell
from premortem.rehearsal.observations import Rehearsed

TITLE = "Data"
_UNHEARD = {"parquet", "h5", "hdf5", "arrow"}
_MOST_FAULTS = 3  # of our own, that are shown of one dataset


def survey(project: Project, tell: Tell) -> Part:
    """The folders named with --data, and those that the script opens as far as its source says."""
    found = opened(project)
    named = {project.folder.absolute() / path for path in project.data}
    roots: dict[Path, set[str] | None] = dict.fromkeys(sorted(named))
    for path, only in found.roots.items():
        if only is None:  # a folder that was named inside it is looked at together with the rest
            roots = {root: below for root, below in roots.items() if path not in root.resolve().parents}
        if not any(path == root or root in path.parents for root in map(Path.resolve, roots)):
            roots[path] = only
    return _part(project, roots, named, found, (), tell)


def survey_seen(project: Project, seen: Rehearsed, known: Part, tell: Tell) -> Part:
    """The same once more, with what a rehearsal has seen: what `survey` could not know from the source."""
    here = project.folder.resolve()
    surveyed = [(here / root["name"]).resolve() for root in known.record.get("roots", ())]
    fresh = {
        folder
        for folder in {Path(each).resolve() for each in seen.opened}
        if not any(root == folder or root in folder.parents for root in surveyed)
        and fits(folder, project.folder)
        and not any(part.startswith(".") for part in folder.parts)
        and _samples_in(folder)
    }
    return _part(project, tops(fresh), set(), Opened(), list(_lengths(project, seen)), tell)


def survey_opened(
    project: Project,
    files: Iterable[str],
    began: float,
    tell: Tell,
    heard: Callable[[Finding], None] | None = None,
) -> Part:
    """Beside a run: the files that it has opened, and folders of samples of which it has opened some. What was written since it
    `began` is its own. `heard` hears each finding as it is made, and before they are folded."""
    older = [path for path in map(Path, files) if _is_older(path, began)]
    used = [path for path in older if names.kind(path.name) != "tensor" or _holds_samples(path.name)]
    samples = {path for path in used if _holds_samples(path.name)}
    found = opened(project)
    roots: dict[Path, set[str] | None] = {}
    there = [path.resolve() for path in used]
    for top in tops({path.resolve() for path in samples}):
        # images/ beside labels.csv: the folder that holds both.
        folder = top.parent if any(path.parent == top.parent for path in there) else top
        below = {path.relative_to(folder).parts[0] for path in there if folder in path.parents}
        roots[folder] = (roots.get(folder) or set()) | below | _unheard(folder, found)
    for folder in found.roots:
        if not any(folder == root or root in folder.parents for root in roots):
            unheard = _unheard(folder, found)
            inside = (
                folder.resolve()
            )  # what lies beside them and was opened says which of their columns are used
            beside = {path.name for path in there if path.parent == inside}
            roots[folder] = unheard | beside if unheard else set()
    roots = {folder: only for folder, only in roots.items() if only}
    if not roots:
        return Part(title=TITLE)
    part = _part(
        project,
        roots,
        set(),
        Opened(spoken=found.spoken, read=found.read, texts=found.texts),
        (),
        tell,
        frozenset(path.name for path in used),
        heard,
    )
    # The run hears them one by one, and would show a consequence that comes before its cause.
    part.findings = fold(part.findings, {check.card.code: check.card for check in ALL})
    return part


def _holds_samples(name: str) -> bool:
    """A file of tensors is a checkpoint, unless it is called after a split."""
    if names.kind(name) == "tensor":
        return bool(names.split_of(name))
    return names.kind(name) in names.SAMPLES or names.suffix(name) == "jsonl"


def _unheard(folder: Path, found: Opened) -> set[str]:
    """Files that libraries open by themselves, where the script's code names them."""
    try:
        there = [entry.name for entry in os.scandir(folder) if names.suffix(entry.name) in _UNHEARD]
    except OSError:
        return set()
    return {name for name in there if any(name in text for text in found.texts)}


def _is_older(path: Path, began: float) -> bool:
    try:
        return path.stat().st_mtime < began
    except OSError:
        return False


def _lengths(project: Project, seen: Rehearsed) -> Iterator[Length]:
    """Only where one sample tells which folders it comes from."""
    reads = seen.reads
    if reads is None or not reads.sample:
        return
    folders = {Path(file).parent for file in reads.sample}
    files, most = max((_samples_in(folder), folder) for folder in folders)
    yield Length(
        name=reads.dataset,
        length=reads.length,
        folder=project.shown(most),
        files=files,
        read=max(reads.length * len(reads.sample), sum(seen.opened.get(str(each), 0) for each in folders)),
    )


def _samples_in(folder: Path) -> int:
    """Without what lies deeper, and without weights, which are opened for other reasons."""
    try:
        with os.scandir(folder) as entries:
            return sum(names.kind(entry.name) in names.SAMPLES - {"tensor"} for entry in entries)
    except OSError:
        return 0


def _part(
    project: Project,
    roots: Mapping[Path, set[str] | None],
    named: set[Path],
    found: Opened,
    lengths: Iterable[Length],
    tell: Tell,
    seen: frozenset[str] = frozenset(),
    heard: Callable[[Finding], None] | None = None,
) -> Part:
    part = Part(title=TITLE, heard=heard)
    surveyed, missing, endings = [], set[str](), Counter[str]()
    misses = list(found.misses)
    sources = project.reading.sources if project.target else []
    trees = [source.tree for source in sources]
    keeps = [each for tree in trees for each in kept.kept(tree)]
    for path, only in roots.items():
        shown = project.shown(path)
        if not path.exists():
            miss = _near_argument(path, shown)
            misses += [miss] if miss else []
            if not miss:
                surveyed.append(Root(name=shown, absent=True))
            continue
        with warnings.catch_warnings():  # here and not in the readers, whose threads would share it
            warnings.simplefilter("ignore")  # what a decoder thinks of metadata
            root, lacking = dataset.look_at(
                path, shown, tell, only=only, keeps=keeps, raw=stored_type(trees), beside=not seen
            )
        if (
            not root.samples
            and path not in named
            and not seen
            and (found.spoken.fetches or not is_surely_data(path))
        ):
            continue
        surveyed.append(root)
        missing |= lacking
        endings.update(dict(root.suffixes))
    facts = DataFacts(
        roots=tuple(surveyed),
        misses=tuple({miss.wanted: miss for miss in misses}.values()),
        patterns=() if seen else tuple(patterns(found.spoken, endings, roots, project.folder)),
        lengths=tuple(lengths),
        clips=tuple(found.clips),
        handled=frozenset(found.spoken.handled),
        words=found.texts,
        opened=seen,
        names=frozenset(
            word.decode()
            for source in sources
            for word in re.findall(rb"[A-Za-z_][A-Za-z0-9_.-]*", source.data)
        ),
        sorts=any(map(habits.sorts_names, trees)),
        latest=frozenset(each for tree in trees for each in habits.latest(tree)),
        lists=frozenset(each for tree in trees for each in habits.lists_of_words(tree)),
        targets=frozenset(each for tree in trees for each in habits.targets(tree)),
        later=frozenset(each for tree in trees for each in habits.later(tree)),
        columns=frozenset(each for tree in trees for each in habits.lists_of_columns(tree)),
        dropped=frozenset(each for tree in trees for each in habits.dropped(tree)),
        writes=habits.only_written(trees),
        by_place=habits.by_place(trees),
        guesses_types=habits.guesses_types(trees),
        sorts_rows=any(map(habits.sorts_rows, trees)),
        permutes=any(map(habits.permutes, trees)),
        numbers=frozenset(number for tree in trees for number in numbers_asked(tree)),
        every_other=any(map(habits.every_other, trees)),
        truths=frozenset(name for tree in trees for name in habits.truths(tree)),
        joins=frozenset(joined.joins(trees)),
        drops_commas=any(map(habits.drops_commas, trees)),
        turns_commas=any(map(habits.turns_commas, trees)),
        drops_points=any(map(habits.drops_points, trees)),
        notes=tuple(
            f"{name} is not installed, so files that need it were only listed" for name in sorted(missing)
        ),
    )
    part.judge(ALL, facts)
    about = [(root.name, _about(root)) for root in surveyed] + [("note", note) for note in facts.notes]
    about += [("not judged", names.shown(fault)) for root in surveyed for fault in root.faults[:_MOST_FAULTS]]
    part.facts = about + part.facts
    part.record = {"roots": [_record(root) for root in surveyed], "notes": list(facts.notes)}
    if not surveyed and not part.findings and not facts.lengths:
        part.skipped = _why_nothing(project, found)
    return part


def _near_argument(path: Path, shown: str) -> Miss | None:
    """--data data/Train, where there is data/train."""
    try:
        near = [each for each in path.parent.iterdir() if names.nearly(path.name, each.name)]
    except OSError:
        return None
    if len(near) != 1:
        return None
    samples = sum(file.kind in names.SAMPLES for file in walk(near[0]).files)
    return Miss(wanted=shown, there=os.path.join(os.path.dirname(shown), near[0].name), samples=samples)  # noqa: PTH118, PTH120


def _why_nothing(project: Project, found: Opened) -> str:
    if not project.target:
        return "no folder was named; `--data DIR` looks at one"
    if not found.read:
        return "the script could not be read, so its data is not known; `--data DIR` looks at a folder"
    if found.spoken.fetches:
        return "the script fetches its data by itself; `--data DIR` looks at a folder"
    return "no data folder was found in the script's source; `--data DIR` looks at one"


def _about(root: Root) -> str:
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in root.kinds) or "nothing to load"
    files = count(root.samples, "sample file") if root.samples else count(root.files, "file")
    text = f"{files} ({kinds}), {size(root.bytes)}"
    if root.samples and not root.read:
        text += "; none was decoded: files of this kind are only listed"
    if root.read:
        text += f"; {root.read:,} of {root.files:,} files decoded ({share(root.read, root.files)})"
        text += ", a random sample with a fixed seed" if root.samples > sampling.ALL_UP_TO else ""
    # A table that a column divides into splits is there as a whole, too.
    tables = [
        t for t in root.tables if t.sample.columns and t.profile.kind != "channels" and "=" not in t.part
    ]
    if tables:
        text += f"; {sum(t.read for t in tables):,} of {sum(t.rows for t in tables):,} rows looked at"
    if root.cut:
        text += "; there are more files, which took too long to list"
    if root.skipped:
        reasons = ", ".join(f"{number:,} because {reason}" for reason, number, _ in root.skipped[:3])
        text += f"; skipped: {reasons}"
    for entry in root.classes[:3]:
        numbers = [number for _, number in entry.counts]
        where = f" in {entry.split}" if entry.split else ""
        each = f"{min(numbers):,} to {max(numbers):,}" if min(numbers) < max(numbers) else f"{max(numbers):,}"
        text += f"; {len(numbers)} classes{where} with {each} files"
    return names.shown(text)


def _record(root: Root) -> dict[str, Any]:
    return {
        "name": names.shown(root.name),
        "files": root.files,
        "samples": root.samples,
        "bytes": root.bytes,
        "kinds": dict(root.kinds),
        "skipped": [[reason, number, names.shown(example)] for reason, number, example in root.skipped],
        "read": root.read,
        "hashed": root.hashed,
        "damaged": len(root.trouble),
        "classes": [{"split": each.split, "counts": dict(each.counts)} for each in root.classes[:8]],
        "sequences": len(root.sequences),
    }
