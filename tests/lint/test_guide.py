"""The session in docs/lint.md is true: the script it shows, linted at a terminal, gives the output it shows."""

import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

GUIDE = (Path(__file__).parent.parent.parent / "docs" / "lint.md").read_text(encoding="utf-8")


def block(name):
    """What stands between the fences between the marks of this name."""
    _before, _begin, rest = GUIDE.partition(f"<!-- {name} -->\n")
    inner, _end, _after = rest.partition(f"<!-- end of {name} -->")
    return inner.partition("\n")[2].removesuffix("```\n")


def at_a_terminal(words, folder):
    """What a plain terminal of eighty columns shows."""
    reader, writer = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "PREMORTEM_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "-m", *words]
    with subprocess.Popen(command, stdout=writer, cwd=folder, env=environment):
        os.close(writer)
        said = b""
        while chunk := _read(reader):
            said += chunk
    os.close(reader)
    return said.decode().replace("\r\n", "\n")


def _read(reader):
    try:
        return os.read(reader, 65536)
    except OSError:  # how Linux says that the other end of a terminal is closed
        return b""


def test_the_session_is_true(tmp_path, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    command, shown = block("lint output").split("\n", 1)
    (tmp_path / "train.py").write_text(block("lint script"), encoding="utf-8")
    assert command.startswith("$ premortem lint ")
    assert at_a_terminal(shlex.split(command.removeprefix("$ ")), tmp_path) == shown
