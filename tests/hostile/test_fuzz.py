"""Every reader of files from elsewhere, given thousands of files that are nearly right: it reads them, or says in one
sentence why it does not. 200 of each kind with every change, 20,000 with `make exhaustive`."""

from __future__ import annotations

import io
import json
import signal
import sqlite3
import struct
import tarfile
import tempfile
import wave
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from premortem.configs import reading
from premortem.configs.places import Broken
from premortem.errors import PremortemError, UsageError, VaultError
from premortem.files import untrusted
from premortem.lint import engine, pinned
from premortem.lint import settings as lint_settings
from premortem.lint.project_facts import Facts
from premortem.preflight.data import readers
from premortem.preflight.data.readers.around import Around, MissingLibrary
from premortem.ranks import processes
from premortem.report import markdown, story
from premortem.ui import runs
from premortem.vault import inert_pickle, leaves
from premortem.vault.contents import open_contents
from premortem.vault.manifest import Manifest, _sealed
from tests.hostile import files
from tests.hostile.mutations import EDITS, PICKLES, VALUES, changed

CASES = [pytest.param(200, id="200"), pytest.param(20_000, id="20000", marks=pytest.mark.exhaustive)]
LONGEST = 60  # seconds for one file; the slowest takes a fraction of one
RULES = engine.all_rules()


@contextmanager
def in_time() -> Iterator[None]:
    def late(*_given: object) -> None:
        raise AssertionError(f"one file took more than {LONGEST} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def each(cases: int, given_: st.SearchStrategy[Any], read: Callable[[Any], None]) -> None:
    count = 0

    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        derandomize=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(given_)
    def run(value: Any) -> None:
        nonlocal count
        count += 1
        with in_time():
            read(value)

    run()
    assert count >= cases * 0.9, f"only {count} cases were tried"


def listed(path: Path) -> None:
    """As `ckpt inspect --json` and without."""
    from premortem.files.plain import dumps
    from premortem.vault.verbs.base import print_json  # noqa: F401 - what it is made of is used below

    try:
        with open_contents(path) as contents:
            dumps({name: leaves.shown(value) for name, value in contents.plain.items()})
            [repr(leaves.shown(value)) for value in contents.plain.values()]
            contents.state_dicts()
            list(contents.damaged(lambda _count: None))
            for name in list(contents.stubs)[:4]:
                with suppress(VaultError):
                    contents.elements(name)
    except VaultError as error:
        _said(error)


def _said(error: VaultError) -> None:
    assert str(error)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


@pytest.fixture(scope="module")
def saved(folder: Path) -> dict[str, bytes]:
    """Whole files of every kind that torch writes."""
    import numpy as np
    import torch
    from safetensors.torch import save

    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "epoch": 3,
        "best": np.float64(0.5),
    }
    state |= {
        "sparse": torch.eye(2).to_sparse(),
        "path": Path("a/b"),
        "names": {"a", "b"},
        "args": [1, {"x": (1, 2)}],
    }
    made = {}
    for name, new in (("zip", True), ("legacy", False)):
        buffer = io.BytesIO()
        torch.save(state, buffer, _use_new_zipfile_serialization=new)
        made[name] = buffer.getvalue()
    made["safetensors"] = save(model.state_dict(), {"about": "x"})
    return made


# --- checkpoints ------------------------------------------------------------------------------


@pytest.mark.parametrize("cases", CASES)
def test_pickles_of_any_opcodes(cases: int) -> None:
    def read(data: bytes) -> None:
        try:
            found = inert_pickle.read(io.BytesIO(data)).value
            tensors, plain = leaves.flatten(found)
            assert len(tensors) + len(plain) < leaves.MOST_LEAVES
            [repr(leaves.shown(value)) for value in plain.values()]
            list(leaves.state_dicts(found))
        except VaultError as error:
            _said(error)

    each(cases, PICKLES, read)


@pytest.mark.parametrize("cases", CASES)
@pytest.mark.parametrize("kind", ["zip", "legacy", "safetensors"])
def test_checkpoints_that_were_changed(kind: str, cases: int, saved: dict[str, bytes], folder: Path) -> None:
    path = folder / f"changed.{'safetensors' if kind == 'safetensors' else 'pt'}"

    def read(edits: Any) -> None:
        path.write_bytes(changed(saved[kind], edits))
        listed(path)

    each(cases, EDITS, read)


@pytest.mark.parametrize("cases", CASES)
def test_pickles_in_a_checkpoint(cases: int, folder: Path) -> None:
    path = folder / "pickled.pt"

    def read(data: bytes) -> None:
        files.in_zip(data)(path)
        listed(path)

    each(cases, PICKLES, read)


@pytest.mark.parametrize("cases", CASES)
def test_headers_of_safetensors(cases: int, folder: Path) -> None:
    path = folder / "header.safetensors"

    def read(value: Any) -> None:
        text = json.dumps(
            {"a": value, "b": {"dtype": "F32", "shape": value, "data_offsets": [0, 4]}}
        ).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(4))
        listed(path)

    each(cases, VALUES, read)


@pytest.mark.parametrize("cases", CASES)
def test_manifests_and_states_of_a_vault(cases: int, folder: Path) -> None:
    home = folder / "step-1"
    home.mkdir(exist_ok=True)

    def read(given_: Any) -> None:
        name, value, state, edits = given_
        body = {"vault": 1, "files": {}, "tensors": {}, **({name: value} if name else {})}
        with suppress(ValueError, AttributeError, UnicodeEncodeError):
            (home / "manifest.json").write_bytes(_sealed(body))
        (home / "state.json").write_text(json.dumps({"model": state}))
        listed(home)
        with suppress(VaultError):
            Manifest.parse(changed(Manifest(step=1).render(), edits), "manifest.json")

    names = st.sampled_from(
        ["", "files", "tensors", "health", "metrics", "step", "kind", "time", "optimizers"]
    )
    each(cases, st.tuples(names, VALUES, VALUES, EDITS), read)


# --- journals ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def journal(folder: Path) -> Path:
    """One with a few rows in each of its tables."""
    path = folder / "whole.sqlite"
    finding = {
        "code": "PM101", "name": "x", "family": "lr", "severity": "error", "certainty": "measured", "step": 2,
        "where": {"file": "train.py", "line": 1, "module": None, "parameter": None}, "message": "m", "cause": "",
        "remedy": "", "evidence": {"a": 1},
    }  # fmt: skip
    rows = (
        "INSERT INTO meta VALUES ('argv', '[\"train.py\"]'), ('reason', '\"finished\"'), ('steps', '3');"
        "INSERT INTO steps VALUES (1, 0, 0.0, 1.0, 1.0, 0.1), (2, 0, 1.0, 'nan', 1.0, 0.1), (3, 0, 2.0, 1, NULL, 1);"
        f"INSERT INTO findings VALUES (1, 0, 2, 'PM101', '{json.dumps(finding)}');"
        'INSERT INTO events VALUES (1, 0, 1, \'CheckpointSaved\', \'{"event": "CheckpointSaved", "step": 1, "path": "a.pt"}\');'
        "INSERT INTO series VALUES (1, 0.0, 'acc', 0.5); INSERT INTO layers VALUES (1, 'gradient', '{\"a\": 1}');"
        "INSERT INTO latest VALUES ('time', 1, '{\"data\": 3}'); INSERT INTO sources VALUES ('train.py', 'x = 1');"
        "INSERT INTO faults VALUES (0.0, 'unit', 'error');"
    )
    files.journal(rows)(path)
    return path


def told(path: Path) -> None:
    """As the list of `ui` and as `report`."""
    entry = runs.read("run", path, 0.0)
    assert entry.message or entry.tone != "unreadable"
    assert entry.state
    with suppress(PremortemError), story.readable(path):
        markdown.page(story.read(path))


@pytest.mark.parametrize("cases", CASES)
def test_journals_whose_bytes_were_changed(cases: int, journal: Path, folder: Path) -> None:
    whole, path = journal.read_bytes(), folder / "changed.sqlite"

    def read(edits: Any) -> None:
        path.write_bytes(changed(whole, edits))
        told(path)

    each(cases, EDITS, read)


@pytest.mark.parametrize("cases", CASES)
def test_journals_with_other_records(cases: int, journal: Path, folder: Path) -> None:
    path = folder / "records.sqlite"
    path.write_bytes(journal.read_bytes())
    places = [
        "UPDATE meta SET value = ? WHERE key = 'argv'", "UPDATE meta SET value = ? WHERE key = 'reason'",
        "UPDATE meta SET value = ? WHERE key = 'steps'", "UPDATE findings SET record = ?", "UPDATE events SET record = ?",
        "UPDATE layers SET record = ?", "UPDATE latest SET record = ?", "UPDATE sources SET text = ?",
        "UPDATE series SET value = ?", "UPDATE steps SET loss = ?", "UPDATE steps SET step = ?",
        "UPDATE latest SET name = 'loss ledger', record = ?", "UPDATE latest SET name = 'code', record = ?",
        "UPDATE latest SET name = 'custody', record = ?", "INSERT OR REPLACE INTO meta VALUES ('started', ?)",
        "INSERT OR REPLACE INTO meta VALUES ('pid', ?)", "INSERT OR REPLACE INTO meta VALUES ('host', ?)",
    ]  # fmt: skip

    def read(given_: Any) -> None:
        query, value = given_
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA synchronous = OFF")
        try:
            with suppress(sqlite3.IntegrityError):
                connection.execute(query, (json.dumps(value),))
            connection.commit()
            told(path)
        finally:
            connection.close()
            path.write_bytes(journal.read_bytes())

    each(cases, st.tuples(st.sampled_from(places), VALUES), read)


# --- text -------------------------------------------------------------------------------------

YAML = b"""defaults: &base {lr: 1e-4, betas: [0.9, 0.999]}
model:
  <<: *base
  name: "resnet"  # a comment
  layers: [1, 2, {a: b}]
text: |
  two
  lines
---
"""
TOML = b"""lr = 1e-4
name = "x"
[model]
layers = [1, 2, {a = "b"}]
[[parts]]
when = 2024-01-01T00:00:00Z
"""
JSON = b'{"lr": 1e-4, "model": {"layers": [1, 2, {"a": "b"}], "name": "x", "on": true, "no": null}}'
PYTHON = b"""# -*- coding: utf-8 -*-
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, width: "int" = 3):
        super().__init__()
        self.layers = [nn.Linear(width, width) for _ in range(3)]

    def forward(self, x):
        return self.layers[0](x).to(x.device)

def train(model, loader, optimizer, scheduler):
    for epoch in range(3):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y) / 4
            loss.backward()
            optimizer.step()  # premortem: ignore[PM501]
        try:
            scheduler.step(f"{loss.item()!r:>{epoch}}")
        except Exception:
            pass
    torch.save(model.state_dict(), "model.pt")
"""
NOTEBOOK = json.dumps(
    {
        "cells": [
            {
                "cell_type": "code",
                "source": ["%matplotlib inline\n", "!pip install torch\n", "import torch\n"],
            },
            {"cell_type": "markdown", "source": "# x"},
            {"cell_type": "code", "source": "%%bash\nls"},
        ],
        "metadata": {"kernelspec": {"language": "python"}},
    }
).encode()


@pytest.mark.parametrize("cases", CASES)
@pytest.mark.parametrize(
    ("suffix", "whole"), [(".yaml", YAML), (".toml", TOML), (".json", JSON)], ids=["yaml", "toml", "json"]
)
def test_configs_that_were_changed(suffix: str, whole: bytes, cases: int, folder: Path) -> None:
    path = folder / f"config{suffix}"
    rules = [rule for rule in RULES if isinstance(rule, engine.ConfigRule)]

    def read(edits: Any) -> None:
        path.write_bytes(changed(whole, edits))
        fits(engine.check_file(str(path), path.read_bytes(), rules, Facts(folder, None)))
        with suppress(Broken):
            reading.read(path)
        if suffix == ".toml":
            (folder / "pyproject.toml").write_bytes(b"[tool.premortem.lint]\n" + path.read_bytes())
            with suppress(UsageError):
                lint_settings.read(folder)

    each(cases, EDITS, read)


def fits(checked: engine.Checked) -> None:
    """A rule that fails on what it was given is a fault of ours, though nobody is harmed by it."""
    failed = [one.message for one in checked.diagnostics if one.card.name == "rule-failed"]
    assert not failed, failed


@pytest.mark.parametrize("cases", CASES)
@pytest.mark.parametrize(("suffix", "whole"), [(".py", PYTHON), (".ipynb", NOTEBOOK)], ids=["py", "ipynb"])
def test_code_that_was_changed(suffix: str, whole: bytes, cases: int, folder: Path) -> None:
    def read(edits: Any) -> None:
        fits(engine.check_file(f"train{suffix}", changed(whole, edits), RULES, Facts(folder, None)))

    each(cases, EDITS, read)


@pytest.mark.parametrize("cases", CASES)
def test_requirements_that_were_changed(cases: int, folder: Path) -> None:
    home = folder / "project"
    home.mkdir(exist_ok=True)
    whole = b'torch>=2.0,<3 ; python_version > \'3\'\n- pytorch::pytorch=2.1=py3*\nname = "torch"\nversion = "2.1"\n'
    names = ("requirements.txt", "uv.lock", "pyproject.toml", "README.md", "environment.yml", "Dockerfile")

    def read(edits: Any) -> None:
        data = changed(whole, edits)
        for name in names:
            (home / name).write_bytes(data)
        pinned.read(home)

    each(cases, EDITS, read)


@pytest.mark.parametrize("cases", CASES)
def test_json_of_any_shape(cases: int) -> None:
    def read(given_: Any) -> None:
        value, edits = given_
        with suppress(ValueError):
            untrusted.loads(changed(json.dumps(value).encode(), edits))

    each(cases, st.tuples(VALUES, EDITS), read)


@pytest.mark.parametrize("cases", CASES)
def test_findings_of_ranks(cases: int, folder: Path) -> None:
    home = folder / "ranks"
    for rank in (0, 1):
        (home / f"rank-{rank}").mkdir(parents=True, exist_ok=True)
    good = {
        "run": {"launch": "1", "started": "x", "rank": 0, "exit_code": 0, "reason": "finished"},
        "findings": [],
    }
    (home / "rank-0" / processes.FILE).write_text(json.dumps(good))

    def read(given_: Any) -> None:
        place, value = given_
        record: dict[str, Any] = {"run": dict(good["run"], rank=1, started="z"), "findings": []}
        record[place] = value
        (home / "rank-1" / processes.FILE).write_text(json.dumps(record))
        assert processes.merged(home) is not None

    each(cases, st.tuples(st.sampled_from(["run", "findings"]), VALUES), read)


@pytest.mark.parametrize("cases", CASES)
def test_descriptions_of_capsules(cases: int, folder: Path) -> None:
    from premortem.replay.capsule import CapsuleError
    from premortem.replay.capsule import read as read_capsule

    home = folder / "capsule"
    home.mkdir(exist_ok=True)
    lists = ("models", "optimizers", "draws", "calls", "losses", "notes")
    good = {
        "capsule": 1,
        "files": {},
        "number": 1,
        "reason": "loss",
        "started": {"argv": ["a.py"]},
        "versions": {},
    }
    good |= {"targets": 1, **{name: [] for name in lists}}

    def read(given_: Any) -> None:
        name, value, edits = given_
        text = json.dumps({**good, **({name: value} if name else {})}).encode()
        (home / "capsule.json").write_bytes(changed(text, edits) if edits else text)
        with suppress(CapsuleError):
            read_capsule(home)

    each(cases, st.tuples(st.sampled_from(["", *good]), VALUES, st.one_of(st.just([]), EDITS)), read)


# --- data -------------------------------------------------------------------------------------


def samples() -> dict[str, bytes]:
    import numpy as np
    from PIL import Image

    made: dict[str, bytes] = {}
    for name, save in (
        ("npy", np.save),
        ("npz", lambda file, array: np.savez_compressed(file, x=array, y=array)),
    ):
        buffer = io.BytesIO()
        save(buffer, np.arange(24.0).reshape(4, 6))
        made[name] = buffer.getvalue()
    for kind in ("png", "jpeg", "gif", "bmp", "tiff", "ppm"):
        buffer = io.BytesIO()
        Image.new("RGB", (9, 7), (1, 2, 3)).save(buffer, kind)
        made[kind] = buffer.getvalue()
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes(200))
    made["wav"] = buffer.getvalue()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("a.png", "a.txt", "b.png"):
            info = tarfile.TarInfo(name)
            info.size = 3
            archive.addfile(info, io.BytesIO(b"abc"))
    made["tar"] = buffer.getvalue()
    made["csv"] = b'path,label\na.png,1\n"b,c",2\n'
    made["json"] = JSON
    made["jsonl"] = JSON + b"\n" + JSON + b"\n"
    return made


@pytest.mark.parametrize("cases", CASES)
@pytest.mark.parametrize(
    "kind", ["npy", "npz", "png", "jpeg", "gif", "bmp", "tiff", "ppm", "wav", "tar", "csv", "json", "jsonl"]
)
@pytest.mark.filterwarnings("ignore")
def test_samples_that_were_changed(kind: str, cases: int, folder: Path) -> None:
    whole, path = samples()[kind], folder / f"train_sample.{kind}"

    def read(edits: Any) -> None:
        path.write_bytes(changed(whole, edits))
        with suppress(MissingLibrary):
            readers.read(path, path.name, Around(folder))

    each(cases, EDITS, read)


# --- what a browser asks ------------------------------------------------------------------------


@pytest.mark.parametrize("cases", CASES)
def test_what_is_asked_of_the_page(cases: int, journal: Path, folder: Path) -> None:
    pytest.importorskip("starlette")
    import asyncio
    from urllib.parse import quote

    from premortem.ui import app

    home = folder / "runs"
    (home / "one").mkdir(parents=True, exist_ok=True)
    (home / "one" / "journal.sqlite").write_bytes(journal.read_bytes())
    pages = app.make(runs.Runs(home), lambda: True)
    loop = asyncio.new_event_loop()

    async def status(path: str, query: str, method: str) -> int:
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.disconnect"} if sent else {"type": "http.request", "body": b""}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(errors="replace"), "headers": [],
            "query_string": query.encode(errors="replace"), "http_version": "1.1", "scheme": "http",
            "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1), "root_path": "",
        }  # fmt: skip
        await pages(scope, receive, send)
        return int(sent[0]["status"])

    def read(given_: Any) -> None:
        name, page, verdict, method = given_
        query = (
            f"page={quote(page, errors='replace')}&verdict={quote(verdict, errors='replace')}&q={page[:50]!r}"
        )
        for path in ("/", f"/runs/{name}", f"/runs/one/plots/{name}", f"/static/{name}"):
            assert loop.run_until_complete(status(path, query, method)) < 500

    words = st.one_of(
        st.text(max_size=12),
        st.integers().map(str),
        st.sampled_from(
            ["9" * 5000, "-1", "nan", "1e9", "²", "٣", "\x00", "../..", "one", "loss", "%ff", "0x10", "１"]
        ),
    )
    try:
        each(cases, st.tuples(words, words, words, st.sampled_from(["GET", "HEAD", "POST"])), read)
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
