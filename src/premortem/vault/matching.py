"""Which weight of a file belongs to which weight of a model. Pure: names, shapes and dtypes in, a match out.

module.fc.weight  (10, 4)   →   fc.weight  (10, 4)       a wrapper's prefix: reported, with the remedy
fc.weight         (10, 4)   →   fc.weight  (12, 4)       another shape
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from premortem.vault.wrapping import bare

_DEEPEST = 4  # segments of a prefix that are tried


@dataclass(frozen=True)
class Spec:
    """What a tensor looks like from outside."""

    shape: tuple[int, ...]
    dtype: str


@dataclass
class Match:
    """What was found. Names are the model's, except in `unexpected` and `aside`."""

    pairs: dict[str, str] = field(default_factory=dict)  # the model's name → the file's
    missing: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    aside: list[str] = field(
        default_factory=list
    )  # lies outside the part of the file that belongs to the model
    reshaped: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = field(
        default_factory=dict
    )  # file's, model's
    cast: dict[str, tuple[str, str]] = field(default_factory=dict)  # likewise
    renaming: str = ""  # how the names were brought together, in words
    remedy: str = ""  # the same as code


@dataclass(frozen=True)
class _Way:
    """One way to read the names of a file."""

    words: str = ""
    remedy: str = ""
    strip: str = ""
    add: str = ""
    wrappers: bool = False

    def read(self, name: str) -> str | None:
        if self.wrappers:
            name = bare(name)
        if self.strip:
            if not name.startswith(self.strip):
                return None
            name = name[len(self.strip) :]
        return self.add + name


def match(saved: Mapping[str, Spec], wanted: Mapping[str, Spec]) -> Match:
    """The reading of the names under which most weights find their place; the plain one when none is better."""
    plain = {bare(name): name for name in wanted}
    best, most = _Way(), _found(_Way(), saved, wanted, {})
    if most < len(wanted) or most < len(saved):
        for way in _ways(saved, wanted):
            found = _found(way, saved, wanted, plain)
            # Another reading must explain most of one side; one or two names can agree by accident.
            if found > most and 2 * found > min(len(wanted), len(saved)):
                best, most = way, found
    return _matched(best, saved, wanted, plain)


def _found(way: _Way, saved: Mapping[str, Spec], wanted: Mapping[str, Spec], plain: Mapping[str, str]) -> int:
    found = 0
    for name, spec in saved.items():
        target = _target(way, name, wanted, plain)
        found += target is not None and wanted[target].shape == spec.shape
    return found


def _target(way: _Way, name: str, wanted: Mapping[str, Spec], plain: Mapping[str, str]) -> str | None:
    read = way.read(name)
    if read is None:
        return None
    if read in wanted:
        return read
    return plain.get(read) if way.wrappers else None


def _matched(
    way: _Way, saved: Mapping[str, Spec], wanted: Mapping[str, Spec], plain: Mapping[str, str]
) -> Match:
    found = Match(renaming=way.words, remedy=way.remedy)
    for name, spec in saved.items():
        target = _target(way, name, wanted, plain)
        if target is None:
            (found.aside if way.strip and way.read(name) is None else found.unexpected).append(name)
            continue
        want = wanted[target]
        if spec.shape != want.shape and not math.prod(spec.shape) == math.prod(want.shape) == 1:
            found.reshaped[target] = (spec.shape, want.shape)
            continue
        found.pairs[target] = name
        if spec.dtype != want.dtype:
            found.cast[target] = (spec.dtype, want.dtype)
    found.missing = [name for name in wanted if name not in found.pairs and name not in found.reshaped]
    return found


def _ways(saved: Mapping[str, Spec], wanted: Mapping[str, Spec]) -> Iterable[_Way]:
    if any(bare(name) != name for name in (*saved, *wanted)):
        yield _Way(
            "without what torch.compile, FSDP or checkpointing put into the names",
            'state = {key.replace("_orig_mod.", ""): value for key, value in state.items()}',
            wrappers=True,
        )
    for prefix in _prefixes(bare(name) for name in saved):
        yield _Way(
            f"without the prefix `{prefix}`",
            f'state = {{key.removeprefix("{prefix}"): value for key, value in state.items()}}',
            strip=prefix,
            wrappers=True,
        )
    for prefix in _prefixes(bare(name) for name in wanted):
        yield _Way(
            f"with the prefix `{prefix}` put in front",
            f'state = {{"{prefix}" + key: value for key, value in state.items()}}',
            add=prefix,
            wrappers=True,
        )


def _prefixes(names: Iterable[str]) -> list[str]:
    """Prefixes that several names share, the most common first."""
    counted: Counter[str] = Counter()
    for name in names:
        parts = name.split(".")
        for depth in range(1, min(_DEEPEST, len(parts) - 1) + 1):
            counted[".".join(parts[:depth]) + "."] += 1
    return [prefix for prefix, _ in counted.most_common(64)]
