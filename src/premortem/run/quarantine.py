"""Samples that make steps fail: written down by one run with their proof, left out by the next.

    .premortem/runs/RUN/quarantine.json     {"premortem": VERSION, "run": RUN, "samples": [{...}, ...]}

A sample is known by the class and the length of its dataset and by its number there; docs/run.md has the fields.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from premortem import __version__
from premortem.derived.certificate import sentence
from premortem.derived.proved import origin_of
from premortem.errors import UsageError
from premortem.events import Autopsied, SamplesBroken
from premortem.files import private, untrusted
from premortem.files.plain import dumps
from premortem.journal.folders import HOME

FILE = "quarantine.json"
_MOST = 4096  # samples; a dataset with more of them has another fault
_SHOWN = 3
Key = tuple[str, "int | None"]  # class and length of a dataset


@dataclass(frozen=True)
class Sample:
    dataset: str
    length: int | None
    index: int
    why: str  # a sentence
    step: int = 0
    batch: int | None = None
    certainty: str = "proved"
    where: dict[str, Any] = field(
        default_factory=dict, hash=False
    )  # "file" and "line" of what made or read it
    capsule: str | None = None

    @property
    def name(self) -> str:
        return f"`{self.dataset}[{self.index}]`"


class Quarantine:
    """What a run was started with, and what it adds."""

    def __init__(self, given: Iterable[Sample] = (), file: Path | None = None) -> None:
        self.file = file  # that it was started with
        self.samples: dict[tuple[str, int | None, int], Sample] = {}
        self.new = 0
        for sample in given:
            self._add(sample)
        self.new = 0
        self._given = self.by_dataset()

    def observe(self, event: Autopsied | SamplesBroken) -> None:
        if isinstance(event, SamplesBroken):
            source: Mapping[str, Any] = event.samples._asdict()
            facts: dict[str, Any] = {"why": "it holds NaN or infinity as the loader hands it out"}
            facts |= {"step": event.step, "batch": event.batch, "certainty": "measured"}
        else:
            found, origin = event.record.get("samples"), origin_of(event.record)
            if not isinstance(found, Mapping) or origin is None:
                return
            source = found
            at = origin.at
            facts = {
                "why": f"{sentence(origin)}; without it the step is finite",
                "step": event.step,
                "where": {"file": at.file, "line": at.line} if at is not None else {},
                "capsule": str(event.record.get("capsule")),
            }
        for index in source["indices"]:
            self._add(Sample(str(source["dataset"]), source["length"], int(index), **facts))

    def _add(self, sample: Sample) -> None:
        key = (sample.dataset, sample.length, sample.index)
        known = self.samples.get(key)
        if known is None and len(self.samples) < _MOST:
            self.samples[key] = sample
            self.new += 1
        elif known is not None and known.certainty != "proved":
            self.samples[key] = sample

    def by_dataset(self) -> dict[Key, frozenset[int]]:
        found: dict[Key, set[int]] = {}
        for dataset, length, index in self.samples:
            found.setdefault((dataset, length), set()).add(index)
        return {key: frozenset(indices) for key, indices in found.items()}

    def knows(self, draws: Iterable[Mapping[str, Any] | None]) -> bool:
        """Whether one of these batches, as a capsule describes them, holds a sample that is known to be broken."""
        drawn = [draw for draw in draws if draw]
        return not drawn or any(
            (draw["dataset"], draw["length"], index) in self.samples
            for draw in drawn
            for index in draw["indices"]
        )

    def write(self, folder: Path) -> Path | None:
        if not self.samples:
            return None
        path = folder / FILE
        record = {
            "premortem": __version__,
            "run": folder.name,
            "samples": [asdict(sample) for sample in self.samples.values()],
        }
        private.replace_text(path, dumps(record, indent=2) + "\n")
        return path

    def sentences(self, left_out: Mapping[Key, set[int]]) -> list[str]:
        """What the run was not given, and why: one sentence for each dataset that the file names."""
        sentences = []
        for key in self._given:
            dataset, length = key
            whole = f"`{dataset}`" + (f" of {length} samples" if length is not None else "")
            found = sorted(left_out.get(key, set()))
            if not found:
                sentences.append(f"{whole} was not drawn from, so nothing of it is left out")
                continue
            whys = dict.fromkeys(self.samples[(*key, index)].why for index in found)
            why = next(iter(whys)) if len(whys) == 1 else f"{len(whys)} reasons, in {self.file}"
            numbers = ", ".join(map(str, found[:_SHOWN])) + (" ..." if len(found) > _SHOWN else "")
            sentences.append(f"{len(found)} of {length} samples of `{dataset}` left out ({numbers}): {why}")
        return sentences

    def shown(self) -> str:
        """ "`Rows[101]`, `Rows[7]` and 3 more"."""
        names = [sample.name for sample in self.samples.values()]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return ", ".join(names[:_SHOWN]) + more


def read(given: Path | None) -> Quarantine:
    """That file, or the one in that folder; without a name the newest one of the runs in this folder."""
    path = given
    if path is None:
        written = (Path.cwd() / HOME / "runs").glob(f"*/{FILE}")
        path = max(written, key=lambda each: each.stat().st_mtime, default=None)
        if path is None:
            raise UsageError(
                f"no run in {Path.cwd() / HOME / 'runs'} has found samples to leave out; name a file: "
                "premortem run --quarantine=FILE.json train.py"
            )
    elif path.is_dir():
        path = path / FILE
    try:
        record = untrusted.loads(untrusted.read(path, untrusted.TEXT))
        samples = [_sample(each) for each in record["samples"]]
    except OSError as error:
        raise UsageError(f"`--quarantine {path}` cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError):
        raise UsageError(
            f'`--quarantine {path}` is not a list of samples: {{"samples": [{{"dataset", "length", "index"}}]}}'
        ) from None
    return Quarantine(samples, path)


def _sample(found: Mapping[str, Any]) -> Sample:
    length, index = found["length"], found["index"]
    if not isinstance(found["dataset"], str) or type(index) is not int or index < 0:
        raise ValueError
    if length is not None and type(length) is not int:
        raise ValueError
    where = found.get("where")
    return Sample(
        found["dataset"],
        length,
        index,
        str(found.get("why") or "it was named by hand"),
        int(found.get("step") or 0),
        found.get("batch"),
        str(found.get("certainty") or "measured"),
        dict(where) if isinstance(where, Mapping) else {},
        found.get("capsule"),
    )


def drawn_for(capsule: Path) -> list[Any]:
    """The samples of its batches, as it names them; empty where it names none."""
    try:
        found = untrusted.loads((capsule / "capsule.json").read_bytes())
        return [draw.get("samples") for draw in found["draws"]]
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return []
