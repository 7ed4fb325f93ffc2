"""The status line on a real terminal: the script's screen is the script's, to the last byte."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from premortem.run.options import RunOptions
from premortem.run.supervision import Supervision
from premortem.terminal.console import Console
from premortem.terminal.status_line import StatusLine, below
from tests.terminal.screen import Person, Shown, on_a_terminal, set_size

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pseudo-terminals as Linux has them")

DRIVEN = str(Path(__file__).with_name("driven.py"))
ERASED = rb"\x1bD\x1bM\x1b7\x1b\[m\x1b\[K\r\x1b\[B\x1b\[J\x1b8"
DRAWN = rb"\x1bD\x1bM\x1b7\x1b\[m\r\x1b\[B[^\n]*?\x1b8"
OURS = re.compile(rb"(?:%b)|(?:%b)" % (ERASED, DRAWN))

PRINTS = """
import logging, os, sys
pause()
print("one")
pause()
print("a line that is", end=" ", flush=True)
pause()
print("ended later")
pause()
for i in range(5):
    print(f"\\rstep {i} of 5", end="", flush=True)
    pause(0.08)
print()
pause(0.3)
logging.warning("logged")
pause()
print("\\033[31;44mred and not ended")
pause()
print("\\033[mplain")
pause()
os.write(1, b"written past Python\\n")
pause()
for i in range(40):
    print("line", i)
pause()
sys.stdout.write("half"); pause(); sys.stdout.write(" and half\\n")
pause()
"""
BARS = """
import sys
from rich.progress import BarColumn, Progress, TextColumn
from tqdm import tqdm
look = dict(bar_format="{desc} {n}/{total}", mininterval=0, file=sys.stderr)
pause()
for epoch in tqdm(range(2), desc="epochs", **look):
    for batch in tqdm(range(3), desc="batches", leave=False, **look):
        pause(0.08)
        if batch == 1:
            tqdm.write("said between")
pause(0.3)
bars = [tqdm(total=2, desc=name, position=row, **look) for row, name in enumerate("abc")]
for bar in [*bars, *bars]:
    bar.update()
    pause(0.08)
for bar in bars:
    bar.close()
pause(0.3)
with Progress(TextColumn("{task.description} {task.completed}"), BarColumn(10), auto_refresh=False) as progress:
    tasks = [progress.add_task(name, total=3) for name in ("left", "right")]
    for _ in range(3):
        for task in tasks:
            progress.advance(task)
            progress.refresh()
            pause(0.08)
pause(0.3)
print("done")
"""
COMPANY = """
import multiprocessing, os, subprocess, sys
pause()
name = input("your name? ")
pause()
print("hello", name)
pause()
breakpoint()
pause()
subprocess.run(["sh", "-c", "for i in 1 2 3; do echo from; echo a child; sleep 0.15; done"])
pause()
def work():
    for i in range(3):
        print("from a fork", i, flush=True)
        print("and its second line", flush=True)
        pause(0.15)
worker = multiprocessing.get_context("fork").Process(target=work)
worker.start(); worker.join()
pause()
print("a table\\nof two rows\\n\\033[2Aits head", flush=True)
pause(0.3)
"""


TRAINING = """
import sys, time, torch
from torch import nn

model = nn.Linear(8, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
print("a script of mine")
until = time.monotonic() + float(sys.argv[1])
while time.monotonic() < until:
    x = torch.randn(64, 8)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(0.01)
raise KeyError("mine")
"""


def driven(mode: str, script: str, folder: Path, *persons: Person, **how: Any) -> Shown:
    path = folder / "script.py"
    path.write_text(script)
    return on_a_terminal([DRIVEN, mode, str(path)], *persons, cwd=folder, **how)


def times_drawn(shown: Shown) -> int:
    return len(re.findall(DRAWN, shown.raw))


@pytest.mark.parametrize(
    ("script", "persons"),
    [
        (PRINTS, ()),
        (BARS, ()),
        (COMPANY, (Person("your name?", b"Ada\n"), Person("(Pdb)", b"p name\n"), Person("'Ada'", b"c\n"))),
    ],
    ids=["prints", "bars", "company"],
)
def test_the_screen_is_the_scripts(script: str, persons: tuple[Person, ...], tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as both:
        without, beside = both.map(lambda mode: driven(mode, script, tmp_path, *persons), ["without", "with"])
    assert times_drawn(beside) > 5, "there was something to tear"
    assert beside.lines == without.lines
    if not persons:  # when an echo comes is for the terminal to say
        assert OURS.sub(b"", beside.raw) == without.raw
        drawn_after = [OURS.sub(b"", beside.raw[: drawn.start()]) for drawn in re.finditer(DRAWN, beside.raw)]
        assert all(before.endswith((b"\n", b"\x1b[?25h")) for before in drawn_after if before)


@pytest.mark.parametrize("ends", ["on its own", "killed"])
def test_nothing_is_drawn_while_a_fork_prints(ends: str) -> None:
    """Drawn between a fork's look and its print, the line would stand under what is printed, and stay there."""
    master, slave = os.openpty()
    set_size(slave, 24, 80)
    line = StatusLine(slave)
    prints, told_to = os.pipe(), os.pipe()

    def slow(_text: str) -> None:
        os.write(prints[1], b"!")
        os.read(told_to[0], 1)

    fork = os.fork()
    if not fork:
        line.passing(sys.stdout, slow, ("and its second line",), {})
        os._exit(0)
    try:
        os.read(prints[0], 1)
        assert not line.draw(["step 460"])
        if ends == "killed":
            os.kill(fork, signal.SIGKILL)
        else:
            os.write(told_to[1], b"!")
        os.waitpid(fork, 0)
        assert line.draw(["step 460"])
    finally:
        line.close()
        for file in (master, slave, *prints, *told_to):
            os.close(file)


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_the_same_in_tmux(tmp_path: Path) -> None:
    """Another terminal, with opinions of its own about what belongs into its history."""
    (tmp_path / "script.py").write_text(PRINTS)

    def tmux(*words: str) -> str:
        command = ["tmux", "-S", str(tmp_path / "socket"), "-f", "/dev/null", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def lines(mode: str) -> list[str]:
        run = f"{sys.executable} {DRIVEN} {mode} script.py"
        shell = f"cd {tmp_path}; clear; {run}; echo the end; sleep 60"
        tmux(
            "new-session",
            "-d",
            "-s",
            mode,
            "-x",
            "80",
            "-y",
            "20",
            "-e",
            "JPY_PARENT_PID=",
            "-e",
            "CI=",
            shell,
        )
        until = time.monotonic() + 60
        while time.monotonic() < until:
            shown = tmux("capture-pane", "-p", "-t", mode, "-S", "-200")
            if "the end" in shown:
                return [line for line in shown.splitlines() if line]
            seen.append("no findings" in shown)
            time.sleep(0.1)
        raise AssertionError(shown)

    seen: list[bool] = []
    try:
        without = lines("without")
        assert not any(seen)
        assert lines("with") == without
        assert any(seen)
    finally:
        tmux("kill-server")


def test_a_window_that_shrinks_leaves_nothing_behind(tmp_path: Path) -> None:
    shown = driven("with", "pause(2)\nprint('done')", tmp_path, Person("no findings", window=(20, 50)))
    widths = [max(map(len, frame)) for frame in shown.frames if any("no findings" in line for line in frame)]
    assert max(widths) == 79
    assert widths[-1] == 49
    assert shown.lines == ["done"]


@pytest.mark.parametrize(
    "how",
    [
        {"environment": {"TERM": "dumb"}},
        {
            "environment": {"JPY_PARENT_PID": "1"}
        },  # `!premortem run` in a notebook: a terminal that nobody sees
        {"columns": 30},
        {"rows": 3},
    ],
    ids=str,
)
def test_where_there_is_no_line(how: dict[str, Any], tmp_path: Path) -> None:
    assert driven("with", "print('a')\npause(0.5)", tmp_path, **how).raw == b"a\r\n"


def test_a_verb_that_takes_its_time(tmp_path: Path) -> None:
    script = """
import os, subprocess
from premortem.terminal.progress import progress
with progress("fit", "looking around") as shown:
    print("said meanwhile")
    pause(1.5)
    shown.count(4, "parts")
    shown.advance(2)
    shown.say("looking closer")
    subprocess.run(["true"])
    os.write(1, b"still ")
    pause(1.5)
print("done")
"""
    shown = driven("without", script, tmp_path)
    assert any(line.startswith("fit: looking around · ") for line in shown.seen)
    halfway = f"fit {10 * '█'}{10 * '░'} 2 of 4 parts · looking closer · about "
    assert any(line.startswith(halfway) for line in shown.seen)
    assert shown.lines == ["said meanwhile", "still done"]


def test_without_colours(tmp_path: Path) -> None:
    shown = driven("with", "pause(0.5)", tmp_path, environment={"NO_COLOR": "1"})
    assert times_drawn(shown)
    assert set(re.findall(rb"\x1b\[[0-9;]*m", shown.raw)) == {b"\x1b[m"}


@pytest.mark.parametrize(
    ("options", "rank", "wanted"),
    [({}, "", True), ({"quiet": True}, "", False), ({"status": False}, "", False), ({}, "1", False)],
)
def test_who_gets_a_line(
    options: dict[str, bool], rank: str, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if rank:
        for name, value in {"RANK": rank, "WORLD_SIZE": "2", "LOCAL_RANK": rank}.items():
            monkeypatch.setenv(name, value)
    made = SimpleNamespace(start=lambda: None)
    monkeypatch.setattr("premortem.run.status.status_for", lambda *_: made)
    supervision = Supervision(RunOptions(target="train.py", **options), Console(options.get("quiet", False)))
    assert (supervision._make_vitals(SimpleNamespace()) is made) is wanted


def test_a_run_that_crashes(tmp_path: Path) -> None:
    """The whole of it: seldom drawn, and at the end the script's own screen with two more lines."""
    (tmp_path / "train.py").write_text(TRAINING)
    commands = [["train.py", "4"], ["-m", "premortem", "run", "train.py", "4"]]
    with ThreadPoolExecutor(2) as both:
        without, watched = both.map(lambda words: on_a_terminal(words, cwd=tmp_path), commands)
    assert (without.code, watched.code) == (1, 1)
    assert 2 <= times_drawn(watched) <= 5
    assert any(
        re.search(r"step [0-9]+ · loss [0-9.e-]+ · no findings · [0-9.]+ ", line) for line in watched.seen
    )
    *same, gap, verdict, where = watched.lines
    assert same == without.lines
    assert gap == ""
    assert re.fullmatch(r"premortem watched [0-9]+ steps: nothing to report", verdict)
    assert where.startswith("  premortem report .premortem/runs/")


def test_ctrl_c_under_the_line(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    shown = on_a_terminal(
        ["-m", "premortem", "run", "train.py", "60"], Person("no findings", b"\x03"), cwd=tmp_path
    )
    assert shown.code == -signal.SIGINT
    assert "no findings" not in shown.text
    assert shown.lines[1].startswith("^C")
    assert "KeyboardInterrupt" in shown.lines
    assert re.search(r"^premortem watched [0-9]+ steps", shown.text, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a\nb\n", 0),
        ("a\nb\n\033[2A", 2),
        ("a\nb\n\033[2A\n", 1),
        ("\n\rbar\033[A\r", 1),
        ("\033[3A\033[J", 0),
        ("\033[32mgreen\033[0m\033[K\033[?25l\033]0;a title\a", 0),
        ("\033[H", float("inf")),
        ("\033[?1049h", float("inf")),
        ("\0337\033[5;1Hx\0338", float("inf")),
    ],
)
def test_what_lies_beneath_the_cursor(text: str, rows: float) -> None:
    assert below(text) == rows
