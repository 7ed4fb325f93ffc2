"""Hostile files by the verbs that read them, each in a process of its own: it ends, without a traceback, with a sentence
that names the file, and with an exit code that is no success where the file is none."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests import starting
from tests.hostile import files
from tests.hostile.files import Maker

PATIENCE = 240  # seconds; the slowest takes a few, and one that hangs takes for ever
# Files that are odd, but not wrong: there is something to show.
FINE = {
    ".pt": {
        "holds itself", "holds itself in a dict", "holds itself in an object", "lists in lists", "tuples in tuples",
        "a number that cannot be printed", "a far memo", "text that is none",
    },
    ".safetensors": set(),
    ".sqlite": {"deep JSON in an event", "many values", "a terabyte after the header"},
    ".yaml": {
        "folder", "empty", "billion laughs", "billion merges", "an anchor in itself", "deep blocks", "the same key twice",
        "a key that is a list", "a tag that calls", "a number with many digits", "a number of sixty seconds", "one long line",
    },
    ".json": {"folder", "deep lists", "not a number", "a number with many digits", "the same key twice"},
    ".toml": {"folder", "empty", "deep tables"},
    ".py": {
        "folder", "empty", "deep brackets", "deep blocks", "one long line", "idna", "many classes", "many functions",
        "strings in strings",
    },
    ".ipynb": {"folder", "code that is deep", "a lone surrogate"},
}  # fmt: skip
# What stands for its kind with every change; the others are tried with `make exhaustive`.
ALWAYS = {
    "pipe", "device", "link to itself", "a terabyte of nothing", "pickle: holds itself", "zip: holds itself",
    "pickle: tuples in tuples as a key", "pickle: doubled lists", "a terabyte of a line", "a million records",
    "deep header", "deep JSON in meta", "steps without end", "broken", "very deep brackets", "deep", "a lone surrogate",
}  # fmt: skip
INSPECT, VERIFY = ("ckpt", "inspect"), ("ckpt", "verify")
TABLES: list[tuple[str, dict[str, Maker], list[tuple[str, ...]]]] = [
    (".pt", {**files.ANY, **files.CHECKPOINTS}, [INSPECT, VERIFY]),
    (".safetensors", files.SAFETENSORS, [INSPECT, VERIFY]),
    (".sqlite", {**files.ANY, **files.JOURNALS}, [("report", "-o", "-")]),
    (".yaml", {**files.ANY, **files.YAML}, [("lint", "--no-cache")]),
    (".json", {**files.ANY, **files.JSON}, [("lint", "--no-cache")]),
    (".toml", {**files.ANY, **files.TOML}, [("lint", "--no-cache")]),
    (".py", {**files.ANY, **files.PYTHON}, [("lint", "--no-cache")]),
    (".ipynb", {**files.ANY, **files.NOTEBOOKS}, [("lint", "--no-cache")]),
]
REPEATED = set(files.ANY)  # the same whatever the suffix: with every change for one suffix of a verb only


def rows():
    for suffix, makers, verbs in TABLES:
        for name, make in makers.items():
            for verb in verbs:
                often = (
                    name in ALWAYS
                    and verb is not VERIFY
                    and (name not in REPEATED or suffix not in {".json", ".toml", ".ipynb", ".py"})
                )
                yield pytest.param(
                    suffix, name, make, verb,
                    id=f"{' '.join(word for word in verb if word[0] != '-')} {suffix} {name}",
                    marks=[] if often else pytest.mark.exhaustive,
                )  # fmt: skip


@pytest.mark.parametrize(("suffix", "name", "make", "verb"), list(rows()))
def test_a_hostile_file_ends_in_a_sentence(
    suffix: str, name: str, make: Maker, verb: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / f"file{suffix}"
    if name == "unreadable" and os.geteuid() == 0:
        pytest.skip("root may read everything")
    make(path)
    try:
        done = starting.run(
            [sys.executable, "-m", "premortem", *verb[:2], path, *verb[2:]]
            if verb[0] == "ckpt"
            else [sys.executable, "-m", "premortem", verb[0], path, *verb[1:]],
            cwd=tmp_path,
            timeout=PATIENCE,
        )
    finally:
        path.unlink() if path.is_symlink() or path.is_file() else None
    said = done.stdout + done.stderr
    assert "Traceback" not in said, said[-3000:]
    fine = name.removeprefix("pickle: ").removeprefix("zip: ") in FINE[suffix]
    assert done.returncode in ({0} if fine else {1, 2}), (done.returncode, said[-1000:])
    if not fine:
        assert path.name in said, said[-1000:]


# --- many runs, one of them good ----------------------------------------------------------------


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs, all of them hostile but one."""
    home = tmp_path_factory.mktemp("project") / ".premortem" / "runs"
    files.journal(files.meta("1"))(_made(home / "good") / "journal.sqlite")
    slow = {"many values", "a large value"}
    for number, (name, make) in enumerate({**files.ANY, **files.JOURNALS}.items()):
        if name not in slow and name not in {"missing", "unreadable"}:
            make(_made(home / f"bad-{number:02}") / "journal.sqlite")
    beside = _made(home / "pipe-beside")
    files.journal(files.meta("1"))(beside / "journal.sqlite")
    os.mkfifo(beside / "journal.sqlite-wal")
    os.mkfifo(beside / "best.pt")
    os.mkfifo(beside / "manifest.json")
    return home


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def test_one_bad_run_costs_its_own_row(runs: Path) -> None:
    pytest.importorskip("uvicorn")
    from tests.ui.conftest import Server, until

    with closing(Server(runs)) as server:

        def status(path: str) -> int:
            return int(server.get(path, timeout=PATIENCE)[0])

        page = until(
            lambda: (text := server.get("/", timeout=PATIENCE)[2]).count("/runs/bad-") >= 20 and text
        )
        assert "/runs/good" in page
        for query in ("page=" + "9" * 5000, "page=-1", "page=%C2%B2", "q=" + "x" * 3000, "verdict=%00"):
            assert status(f"/?{query}") == 200
        found = {folder.name: status(f"/runs/{folder.name}") for folder in sorted(runs.iterdir())}
        assert set(found.values()) <= {200, 404, 422}, found
        assert found["good"] == 200


def test_the_report_of_a_run_with_pipes_beside_it(runs: Path) -> None:
    done = starting.run(
        [sys.executable, "-m", "premortem", "report", runs / "pipe-beside", "-o", "-"],
        cwd=runs,
        timeout=PATIENCE,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in {0, 1}


# --- data -------------------------------------------------------------------------------------

LARGE = {"many.npz", "bomb.npz", "bomb.tar", "columns.csv", "large.png"}  # with `make exhaustive`


@pytest.mark.parametrize("everything", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_check_looks_at_a_folder_of_hostile_samples(everything: bool, tmp_path: Path) -> None:
    data = _made(tmp_path / "data")
    for name, make in files.DATA.items():
        if everything or name not in LARGE:
            make(data / name)
    (data / "good.csv").write_text("a,b\n1,2\n")
    done = starting.run(
        [sys.executable, "-m", "premortem", "check", "--data", data], cwd=tmp_path, timeout=PATIENCE
    )
    said = done.stdout + done.stderr
    assert "Traceback" not in said, said[-3000:]
    assert done.returncode == 1, said[-1000:]
    assert "cut.png" in said or "damaged" in said, said[-2000:]
