"""What only reads works where POSIX is missing; what starts a script says so at once."""

import json
import subprocess
import sys

import pytest

from premortem.events import StepStats
from premortem.journal import Journal

# Takes away what the other system lacks, before premortem is imported. `os.name` stays: pathlib would make paths of another kind.
AWAY = """
import contextlib, io, json, os, signal, sys
system, calls_of = sys.argv[1], json.loads(sys.argv[2])
# The standard library and others are those of the system they were made for.
import bokeh.embed, bokeh.layouts, bokeh.plotting, jinja2, numpy, shutil, subprocess, sysconfig, tempfile, torch, rich.console
sysconfig.get_config_vars()
class Missing:
    names = {"win32": {"fcntl", "resource", "termios", "tty", "pwd", "grp", "pty", "syslog"}, "darwin": set()}[system]
    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
for name in Missing.names:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())
calls = {
    "win32": "fork forkpty killpg setsid getuid geteuid getgid setpgid getpgid waitid statvfs uname chown mkfifo sysconf "
    "sched_getaffinity posix_fadvise posix_fallocate pread pwrite memfd_create wait3 wait4 nice getloadavg".split(),
    "darwin": "sched_getaffinity posix_fadvise posix_fallocate memfd_create".split(),
}
for name in calls[system]:
    if hasattr(os, name):
        delattr(os, name)
if system == "win32":
    for name in "SIGHUP SIGUSR1 SIGUSR2 SIGKILL SIGALRM SIGCHLD SIGCONT SIGSTOP SIGQUIT SIGTSTP SIGPIPE SIGWINCH setitimer alarm".split():
        if hasattr(signal, name):
            delattr(signal, name)
sys.platform = system
from premortem.cli import main
for words in calls_of:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
        out.flush()
    print(json.dumps([code, out.buffer.getvalue().decode(), err.getvalue()]))
"""
SYSTEMS = ("win32", "darwin")


def called(folder, system, calls):
    """Premortem as on another system, all calls in one process: exit code, stdout and stderr of each."""
    command = [sys.executable, "-c", AWAY, system, json.dumps(calls)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_only_reads_works(tmp_path, system):
    torch = pytest.importorskip("torch")
    (tmp_path / "train.py").write_text("import torch\n\n\ndef move(x):\n    x.unsqueeze(0)\n    return x\n")
    torch.save({"weight": torch.zeros(2)}, tmp_path / "net.pt")
    meta = {"argv": ["train.py"], "reason": "finished", "steps": 2}
    opened = Journal.open(tmp_path / "run", meta=meta, on_problem=pytest.fail)
    for step in (1, 2):
        opened.step(
            StepStats(step=step, optimizer=1, loss=0.5, grad_norm=1.0, worst=None, lr=0.1), 1000.0 + step
        )
    opened.close()
    path = str(opened.path)
    wanted = [
        (1, "PM501", ("lint", "train.py")),
        (0, "parameter-without-optimizer", ("explain", "PM103")),
        (0, "# Nothing wrong was seen in 2 steps.", ("report", path, "-o", "-")),
        (0, "<!doctype html>", ("report", path, "--format", "html", "-o", "-")),
        (0, "net.pt", ("ckpt", "verify", "net.pt")),
    ]
    answers = called(tmp_path, system, [words for _, _, words in wanted])
    for (code, said, words), (left, out, err) in zip(wanted, answers, strict=True):
        assert (left, said in out) == (code, True), (words, out[-500:], err)


@pytest.mark.parametrize("verb", ["run", "check", "fit", "drill", "why", "replay", "demo"])
def test_what_starts_a_script_says_that_it_cannot(monkeypatch, capsys, verb):
    from premortem import cli

    monkeypatch.delattr("os.fork")
    monkeypatch.setattr(sys, "platform", "win32")
    assert cli.main([verb, "train.py"]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "by `fork` and signals, which win32 does not have" in said
    assert "`lint`" in said
