"""Means and standard deviations that lie beside the data, in files of their own."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from premortem.configs.reading import read
from premortem.preflight.data import names
from premortem.preflight.data.data_facts import Statistics
from premortem.preflight.data.walk import File

_MEANS = frozenset({"mean", "means", "mu", "avg", "average", "pixel_mean", "image_mean", "center", "loc"})
_STDS = frozenset({"std", "stds", "sigma", "stdev", "stddev", "sd", "pixel_std", "image_std", "scale"})
_BOTH = frozenset({"norm", "normalization", "normalisation", "stats", "statistics", "moments"})
_SMALL = 1 << 13
_MOST_BYTES = 1 << 20
_MOST_FILES = 64


def beside(root: Path, files: Iterable[File]) -> Iterator[Statistics]:
    files = list(files)
    arrays = [f for f in files if f.size <= _SMALL and names.suffix(f.name) == "npy"][:_MOST_FILES]
    held = [
        *((file, of_array(root / file.path)) for file in arrays),
        *small_files(root, files, "json", "yaml", "yml", "npz", most_bytes=_MOST_BYTES),
    ]
    for file, found in held:
        yield from (Statistics(file.path, *pair) for pair in pairs(found))


def small_files(
    root: Path, files: Iterable[File], *endings: str, most_bytes: int = 1 << 16
) -> Iterator[tuple[File, Any]]:
    """Those with one of these endings, and what they hold."""
    fitting = [f for f in files if f.size <= most_bytes and names.suffix(f.name) in endings]
    yield from ((file, contents(root / file.path)) for file in fitting[:_MOST_FILES])


def contents(path: Path) -> Any:
    """What a small file holds, as dictionaries and numbers; nothing when it cannot be read."""
    try:
        if path.suffix in {".npz", ".npy"}:
            import numpy as np

            if path.suffix == ".npy":
                return np.load(path, allow_pickle=False).tolist()
            with np.load(path, allow_pickle=False) as archive:
                return {name: archive[name].tolist() for name in archive.files if archive[name].size <= 64}
        return read(path).data
    except Exception:  # noqa: BLE001 - another's file, of any content
        return None


def of_array(path: Path) -> Any:
    """mean.npy with std.npy beside it, or both as two rows of a file that is called after them."""
    try:
        import numpy as np

        array = np.load(path, allow_pickle=False)
        word = path.stem.lower()
        other = next(
            (path.with_name(f"{std}.npy") for std in sorted(_STDS) if path.with_name(f"{std}.npy").exists()),
            None,
        )
        if word in _MEANS and other is not None:
            return {
                "mean": array.ravel().tolist(),
                "std": np.load(other, allow_pickle=False).ravel().tolist(),
            }
        if array.ndim == 2 and len(array) == 2 and set(re.split(r"[^a-z]+", word)) & _BOTH:
            return {"mean": array[0].tolist(), "std": array[1].tolist()}
    except Exception:  # noqa: BLE001 - another's file, of any content
        return None
    return None


Pair = tuple[tuple[float, ...], tuple[float, ...], tuple[str, ...]]


def pairs(value: Any, depth: int = 0) -> Iterator[Pair]:
    """A mean and a standard deviation that stand beside each other, at any depth; those of several columns, each under its name,
    are one pair for all of them."""
    if not isinstance(value, Mapping) or depth > 3:
        return
    if (pair := own_pair(value)) is not None:
        yield pair
    inner = {str(name): own_pair(each) for name, each in value.items() if isinstance(each, Mapping)}
    single = {name: each for name, each in inner.items() if each is not None and len(each[0]) == 1}
    if len(single) > 1:
        yield (
            tuple(each[0][0] for each in single.values()),
            tuple(each[1][0] for each in single.values()),
            tuple(single),
        )
    for name, each in value.items():
        if len(single) < 2 or str(name) not in single:
            yield from pairs(each, depth + 1)


def own_pair(value: Mapping[Any, Any]) -> Pair | None:
    lower = {str(key).lower(): each for key, each in value.items()}
    mean = next((numbers(lower[key]) for key in lower if key in _MEANS), None)
    std = next((numbers(lower[key]) for key in lower if key in _STDS), None)
    good = mean and std and len(mean) == len(std) and all(s > 0 for s in std)
    return (mean, std, ()) if mean and std and good else None


def numbers(value: Any) -> tuple[float, ...] | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (float(value),)
    if isinstance(value, list) and 0 < len(value) <= 64 and all(isinstance(v, (int, float)) for v in value):
        return tuple(map(float, value))
    return None
