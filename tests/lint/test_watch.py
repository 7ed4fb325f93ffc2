"""`premortem lint --watch`: a real process, real files, a real Ctrl-C."""

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from premortem.lint import watch

BAD = "import torch\n\n\ndef move(x):\n    x.unsqueeze(0)\n    return x.shape\n"
GOOD = BAD.replace("x.unsq", "x = x.unsq")
LIMIT = 60  # seconds; a machine that runs other tests beside this one is slow


class Watched:
    """The process and what it says, line by line, stdout and stderr together."""

    def __init__(self, folder, *options):
        command = [sys.executable, "-u", "-m", "premortem", "lint", "--watch", *options, "."]
        environment = {**os.environ, "PREMORTEM_CACHE_DIR": str(folder.parent / "cache")}
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def until(self, last="premortem: watching; Ctrl-C ends this"):
        """Everything up to this line."""
        said = [self.lines.get(timeout=LIMIT)]
        while said[-1] != last:
            said.append(self.lines.get(timeout=LIMIT))
        return said[:-1]

    def end(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(LIMIT)
        self.reader.join()
        self.process.stdout.close()
        rest = []
        while not self.lines.empty():
            rest.append(self.lines.get())
        return code, rest

    def kill(self):
        if not self.process.stdout.closed:
            self.process.kill()
            self.end()


@pytest.fixture
def started(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    (folder / "train.py").write_text(BAD)
    (folder / "other.py").write_text("import torch\n")
    running = []

    def start(*options):
        running.append(Watched(folder, *options))
        return folder, running[-1]

    yield start
    for one in running:
        one.kill()


def test_what_changes_is_read_again_and_ctrl_c_ends_it_cleanly(started):
    folder, process = started()
    assert "train.py:5:5: error PM501" in process.until()[0]
    (folder / "train.py").write_text(GOOD)
    assert process.until() == ["premortem: train.py changed", "nothing to report in 3 files"]
    (folder / "new.py").write_text(BAD)
    announced, report, *_rest = process.until()
    assert announced == "premortem: new.py changed"
    assert "new.py:5:5: error PM501" in report
    (folder / "new.py").unlink()
    assert process.until() == ["premortem: new.py changed", "nothing to report in 3 files"]
    assert process.end() == (0, [])


def test_settings_are_read_again_and_wrong_ones_told_once(started):
    folder, process = started()
    process.until()
    settings = folder / "pyproject.toml"
    settings.write_text('[tool.premortem.lint]\nignroe = ["PM501"]\n')
    told = process.lines.get(timeout=LIMIT)
    assert told.endswith("has no key `ignroe`; did you mean `ignore`?")
    settings.write_text('[tool.premortem.lint]\nignore = ["PM501"]\n')
    assert process.until() == ["premortem: pyproject.toml changed", "nothing to report in 3 files"]
    assert process.end() == (0, [])


def test_it_mends_while_it_watches(started):
    folder, process = started("--unsafe-fixes")
    process.until("nothing to report in 3 files")
    assert (folder / "train.py").read_text() == GOOD
    assert process.end()[0] == 0


def test_a_wrong_call_ends_at_once(started):
    _folder, process = started("--select", "PM999")
    assert process.process.wait(LIMIT) == 2


def test_a_snapshot_leaves_out_what_is_gone(tmp_path):
    here = tmp_path / "a.py"
    here.write_text("x")
    found = watch.snapshot([str(here), str(tmp_path / "gone.py")])
    assert found == {str(here): (here.stat().st_mtime_ns, 1)}


def test_ctrl_c_in_the_middle_of_a_long_run_leaves_no_traceback(tmp_path):
    body = "def f(x):\n    return x\n" * 300
    for number in range(700):  # enough for several processes, and for some seconds
        (tmp_path / f"file{number}.py").write_text(f"import torch\n{body}")
    with subprocess.Popen(
        [sys.executable, "-m", "premortem", "lint", "--no-cache", "."],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        children = f"/proc/{process.pid}/task/{process.pid}/children"
        deadline = time.monotonic() + LIMIT
        while not Path(children).read_text() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to all of them
        assert process.communicate() == (b"", b"")
    assert process.returncode == 130
