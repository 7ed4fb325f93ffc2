"""The scripts that `bench/why.py` asks about, each with the families that are right; none for a healthy one."""

import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import why_wild
from split import half_of
from why_harms import HARMS, OTHER_LOSS, planted

from premortem import changes

ROOT = Path(__file__).resolve().parent.parent
CASEBOOK = ROOT / "casebook"
DRILLED = ROOT / "bench" / "results" / "drill.json"
SETS = ("planted", "twins", "exam", "forum", "casebook", "mutants", "healthy", "wild", "strangers")
PLANTED = 5  # mistakes in each healthy script, of those that have a place there
# Families of faults that show in how a model learns; the others are about files, memory, time, other processes.
LEARNING = frozenset(
    "optimizer-ownership grad-flow update-order accumulation scheduler lr eval-mode eval-stale data-labels data-order "
    "data-augment data-scale shape init-saturation vanishing exploding clipping weight-decay loss-definition config "
    "numerics-masked numerics-overflow".split()
)


@dataclass(frozen=True, kw_only=True)
class Case:
    set: str
    name: str
    words: tuple[str, ...]  # the script and its arguments
    right: tuple[str, ...] = ()
    fault: str = ""  # of the casebook's: put into a copy first
    source: str = ""  # of the script with a mistake of `why_harms` in it: a copy has it
    wild: tuple[dict[str, Any], Path] | None = None  # a public script: its entry in the list, and its sources
    mistake: str = ""  # that is planted in it

    @property
    def same_loss(self) -> bool:
        name = self.name.rpartition("/")[2]
        return why_wild.same_loss(name) if self.wild else name not in OTHER_LOSS

    @property
    def part(self) -> str:
        return why_wild.half(self.wild[0]) if self.wild else half_of(self.name, "why")

    @property
    def costs(self) -> bool:
        """It counts only if the mistake costs something, which has to be measured."""
        return bool(self.source or self.mistake)

    def healthy(self, folder: str) -> tuple[str, ...]:
        """The words of the script without the mistake."""
        return why_wild.staged(*self.wild, "", Path(folder, "healthy")) if self.wild else self.words

    def staged(self, folder: str) -> tuple[str, ...]:
        """The words, where the script is a copy with the fault in it."""
        if self.wild:
            return why_wild.staged(*self.wild, self.mistake, Path(folder, "project"))
        if self.source:
            script = Path(self.words[0])
            copy = Path(folder, "project", script.name)
            if (script.parent / "drill.txt").exists():  # a case, with its modules and data
                left_out = shutil.ignore_patterns("faults", "runs", "data", "__pycache__", ".premortem")
                shutil.copytree(script.parent, copy.parent, ignore=left_out)
                (copy.parent / "data").symlink_to(script.parent / "data")
            copy.parent.mkdir(exist_ok=True)
            copy.write_text(self.source)
            return (str(copy), *self.words[1:])
        if not self.fault:
            return self.words
        sys.path.insert(0, str(CASEBOOK))
        from common.faults import stage  # type: ignore[import-not-found]

        return (str(stage(Path(self.words[0]).parent, self.fault, Path(folder))), *self.words[1:])


def cases(shared: Path | None, wild: Path | None = None, strangers: Iterable[Path] = ()) -> list[Case]:
    """All of them; the healthy ones, but for twins, with mistakes planted in them too."""
    found = list(_as_they_are(shared))
    hosts = [each for each in found if not each.right and each.set != "twins"]
    public = list(wild_cases(wild)) if wild is not None else []
    theirs = [case for folder in strangers for case in strangers_cases(folder)]
    return [*found, *planted_cases(hosts), *public, *theirs]


def strangers_cases(folder: Path) -> Iterator[Case]:
    """A folder of healthy scripts by people who know nothing of premortem, as they are and with mistakes planted."""
    hosts = [
        Case(set="strangers", name=f"strangers/{path.stem}", words=(str(path),))
        for path in sorted(folder.glob("*.py"))
    ]
    yield from hosts
    for case in planted_cases(hosts):
        yield replace(case, set="strangers")


def wild_cases(folder: Path) -> Iterator[Case]:
    faulty = why_wild.has_faults()
    for script, whole in why_wild.exported(folder):
        name = f"wild/{script['name']}"
        if script["name"] in faulty:
            continue
        yield Case(set="wild", name=name, words=(name,), wild=(script, whole))
        for mistake in why_wild.drawn(script, whole, LEARNING):
            yield Case(
                set="wild",
                name=f"{name}/{mistake.name}",
                words=(name,),
                right=tuple(sorted(mistake.families)),
                wild=(script, whole),
                mistake=mistake.name,
            )


def _as_they_are(shared: Path | None) -> Iterator[Case]:
    twins = ROOT / "tests" / "twins"
    for manifest in sorted(twins.glob("manifest_*.json")):
        yield from _listed("twins", twins, manifest)
    for name, folder in (("exam", "exam"), ("forum", "exam/forum")):
        if shared is not None and (shared / folder / "manifest.json").exists():
            yield from _listed(name, shared / folder, shared / folder / "manifest.json")
    for path in sorted((ROOT / "tests" / "why" / "healthy").glob("*.py")):
        yield Case(set="healthy", name=f"healthy/{path.name}", words=(str(path),))
    for case in sorted(path.parent for path in CASEBOOK.glob("*/drill.txt")):
        words = (str(case / "train.py"), *(case / "drill.txt").read_text().split())
        yield Case(set="healthy", name=f"healthy/{case.name}", words=words)
        yield from _faults(case)
        yield from _mutants(case, words)


def planted_cases(hosts: Iterable[Case]) -> Iterator[Case]:
    """Some of the mistakes that have a place in a healthy script, by a draw that depends on its name alone."""
    for host in hosts:
        text = Path(host.words[0]).read_text()
        draw = random.Random(host.name)
        found = 0
        for mistake in draw.sample(HARMS, len(HARMS)):
            source = planted(text, mistake, draw.randrange)
            if source and found < PLANTED:
                found += 1
                yield Case(
                    set="planted",
                    name=f"planted/{host.name}/{mistake.name}",
                    words=host.words,
                    right=tuple(sorted(mistake.families)),
                    source=source,
                )


def _listed(name: str, folder: Path, manifest: Path) -> Iterator[Case]:
    for entry in json.loads(manifest.read_text()):
        buggy = entry["set"] == "buggy"
        path = folder / entry["file"]
        if path.exists() and (not buggy or entry["category"] in LEARNING):
            right = (entry["category"], *entry.get("also", ()), *entry.get("near", ())) if buggy else ()
            yield Case(set=name, name=f"{name}/{entry['file']}", words=(str(path),), right=right)


def _faults(case: Path) -> Iterator[Case]:
    """Those that show in how it learns: a story says that `run` has to see it."""
    for path in sorted(case.glob("faults/*/story.json")):
        told: dict[str, Any] = json.loads(path.read_text())
        right = tuple(each for each in told["expect"]["families"] if each in LEARNING)
        if right and told["verb"] == "run":
            words = (
                str(case / "train.py"),
                *told.get("arguments", ()),
                *(case / "drill.txt").read_text().split(),
            )
            fault = path.parent.name
            yield Case(
                set="casebook", name=f"casebook/{case.name}/{fault}", words=words, right=right, fault=fault
            )


def _mutants(case: Path, words: tuple[str, ...]) -> Iterator[Case]:
    """Those of which `bench/drill.py` has seen that they change this training."""
    drilled = json.loads(DRILLED.read_text())["cases"].get(case.name, {"mutants": ()})
    works = {each["name"] for each in drilled["mutants"] if each["took_effect"]}
    for name, cls in changes.of("harm").items():
        if name in works and cls.harm is not None and cls.harm.families & LEARNING and not cls.harm.kills:
            driver = str(ROOT / "bench" / "why_mutant.py")
            yield Case(
                set="mutants",
                name=f"mutants/{case.name}/{name}",
                words=(driver, name, *words),
                right=tuple(sorted(cls.harm.families)),
            )


def in_order(chosen: list[Case], seed: int) -> list[Case]:
    """By chance, two with a fault to one healthy, so that a bench that is cut off is a fair sample."""
    draw = random.Random(seed)
    chosen = sorted(chosen, key=lambda case: case.name)
    draw.shuffle(chosen)
    faulty, healthy = [each for each in chosen if each.right], [each for each in chosen if not each.right]
    places = [(place / 2, case) for place, case in enumerate(faulty)]
    places += [(place + 0.6, case) for place, case in enumerate(healthy)]
    return [case for _, case in sorted(places, key=lambda each: each[0])]


def make_data(chosen: list[Case]) -> None:
    """Once for all: what a trial writes is thrown away."""
    scripts = {word for case in chosen for word in case.words if word.endswith("train.py")}
    with tempfile.TemporaryDirectory() as folder:
        waiting = []
        for script in sorted(scripts):
            words = (Path(script).parent / "drill.txt").read_text().split()
            out = ["--epochs", "1", "--out", str(Path(folder, Path(script).parent.name))]
            waiting.append(
                subprocess.Popen([sys.executable, script, *words, *out], stdout=subprocess.DEVNULL)
            )
        for process in waiting:
            process.wait()
