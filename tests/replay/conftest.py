"""Scripts that fail at a known step, watched and replayed in processes of their own, as a user would."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

import premortem
from tests import starting

SRC = str(Path(premortem.__file__).parents[1])
SCRIPTS = Path(__file__).parent / "scripts"
ENVIRONMENT = {**os.environ, "PYTHONPATH": SRC, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}


class Scene:
    """A folder with a script in it."""

    def __init__(self, folder: Path, script: str) -> None:
        self.folder = folder
        self.script = script
        shutil.copy(SCRIPTS / script, folder)

    def premortem(self, *words, **variables):
        return starting.run(
            [sys.executable, "-m", "premortem", *words],
            cwd=self.folder,
            env={**ENVIRONMENT, **variables},
            timeout=600,
        )

    def watch(self, *arguments, options=(), **variables):
        words = ["run", "--findings", "f.json", *options, self.script, *arguments]
        return self.premortem(*words, **variables)

    @property
    def findings(self):
        return json.loads((self.folder / "f.json").read_text())["findings"]

    @property
    def capsules(self):
        found = self.folder.glob(".premortem/runs/*/capsules/step-*")
        return sorted(found, key=lambda path: int(path.name.split("-")[1]))

    def replay(self, *words):
        done = self.premortem("replay", "--json", "r.json", *words, self.capsules[0])
        path = self.folder / "r.json"
        return done, json.loads(path.read_text(), parse_constant=pytest.fail) if path.exists() else None

    def line(self, number):
        return (self.folder / self.script).read_text().splitlines()[number - 1]


@pytest.fixture
def scene(tmp_path):
    return lambda script: Scene(tmp_path, script)


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """One capsule for all tests that only look at it."""
    scene = Scene(tmp_path_factory.mktemp("watched"), "trainer_class.py")
    done = scene.watch(
        "--epochs", "1", "--api-key", "hush-hush", HF_TOKEN="hush-too", PYTORCH_TEST_KEY="hush-3"
    )
    assert scene.capsules, done.stderr
    return scene
