"""Labels and edges that are off by one, among the arrays and tables of a dataset."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from premortem.preflight.data import names
from premortem.preflight.data.data_facts import Moved
from premortem.preflight.data.numbered import joined, lag
from premortem.preflight.data.walk import File, Tree

_EDGES = re.compile(r"edge|link|adj|graph|relation|pairs")
_ENDS = (("src", "dst"), ("source", "target"), ("from", "to"), ("u", "v"), ("head", "tail"), ("i", "j"))
_LABELS = re.compile(r"(^|[^a-z])(y|labels?|targets?|class(es)?)([^a-z]|$)")
_MOST_BYTES = 64 << 20
_MOST_FILES = 24
_LONGEST = 1 << 12  # letters of a header that names two ends


def moved(tree: Tree, held: Mapping[str, Any]) -> Iterator[Moved]:
    """Only where one file holds the labels or the edges, and one the rows. `held`: the arrays of the tree."""
    tables = {name: made for name, made in held.items() if made.ndim == 2 and made.dtype.kind == "f"}
    labels = {
        name: made
        for name, made in held.items()
        if made.ndim == 1 and made.dtype.kind in "iuf" and _LABELS.search(spoken(name))
    }
    for name, made in labels.items():
        fitting = [each for each in tables if len(tables[each]) == len(made) and beside(each, name)]
        found = lag(tables[fitting[0]], made) if len(fitting) == 1 else None
        if found is not None:
            yield Moved(
                what="labels", path=name, other=fitting[0], step=found[0], here=found[1], there=found[2]
            )
    for name, ends in edges(tree, held):
        most = int(ends.max()) + 1
        fitting = [each for each in tables if 0.9 * len(tables[each]) <= most <= len(tables[each]) + 1]
        found = joined(ends, tables[fitting[0]]) if len(fitting) == 1 else None
        if found is not None:
            yield Moved(
                what="edges", path=name, other=fitting[0], step=found[0], here=found[1], there=found[2]
            )


def beside(one: str, two: str) -> bool:
    """Of one file, or of two files of one split and folder."""
    if "[" in one and "[" in two:
        return one.partition("[")[0] == two.partition("[")[0] and names.split_of(one) == names.split_of(two)
    folders = one.rpartition("/")[0] == two.rpartition("/")[0]
    return folders and names.split_of(one.rpartition("/")[2]) == names.split_of(two.rpartition("/")[2])


def spoken(name: str) -> str:
    return name.rpartition("/")[2].rpartition("[")[2].rstrip("]").partition(".")[0].lower()


def arrays(tree: Tree) -> Iterator[tuple[str, Any]]:
    files = [f for f in tree.files if f.kind == "array" and f.size <= _MOST_BYTES]
    if not files or len(files) > _MOST_FILES:
        return
    try:
        import numpy as np
    except ImportError:
        return
    for file in files:
        try:
            made = np.load(tree.root / file.path, allow_pickle=False)
            if hasattr(made, "files"):
                with made:
                    sizes = {names.stem(info.filename): info.file_size for info in made.zip.infolist()}
                    for part in made.files[:16]:
                        if sizes.get(part, 0) <= _MOST_BYTES:  # as it grows when it is unpacked
                            yield f"{file.path}[{part}]", made[part]
            else:
                yield file.path, made
        except Exception:  # noqa: BLE001, S112 - another's file, of any content: the readers say what is wrong with it
            continue


def edges(tree: Tree, held: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, made in held.items():
        if _EDGES.search(name.lower()) and made.ndim == 2 and made.dtype.kind in "iu" and 2 in made.shape:
            yield name, made.T if made.shape[0] == 2 else made
    for file in tree.files:
        if file.kind == "table" and file.size <= _MOST_BYTES:
            found = ends_in(tree.root / file.path, file)
            if found is not None:
                yield file.path, found


def ends_in(path: Path, file: File) -> Any:
    import csv

    import numpy as np

    if names.suffix(file.name) not in {"csv", "tsv"}:
        return None
    mark = "\t" if file.name.endswith(".tsv") else ","
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as opened:
            head = opened.readline(_LONGEST)
            lower = {name.strip().strip('"').lower() for name in head.split(mark)}
            ends = next((pair for pair in _ENDS if lower.issuperset(pair)), None)
            if ends is None:
                return None
            opened.seek(0)
            rows = csv.DictReader(opened, delimiter=mark)
            named = {str(name).strip().lower(): name for name in rows.fieldnames or ()}
            return np.array([[int(row[named[end]]) for end in ends] for row in rows], dtype="int64")
    except (OSError, ValueError, TypeError, KeyError, OverflowError, csv.Error):
        return None  # no table of edges
