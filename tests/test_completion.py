"""Completion, asked of a real bash: what would it offer at the end of this line?"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from premortem import cli
from premortem.cli.completion import SHELLS
from premortem.run import command

# What bash does when Tab is pressed: it sets these variables and calls the function that was registered.
ASK = r"""
source "$1"; shift
[[ $(complete -p premortem) =~ -F\ ([^ ]+) ]] || exit 3
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
"${BASH_REMATCH[1]}" premortem "${@: -1}" "${@: -2:1}"
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("completion") / "premortem.bash"
    result = subprocess.run(
        [sys.executable, "-m", "premortem", "completion", "bash"], capture_output=True, text=True, check=True
    )
    assert result.stderr == ""
    path.write_text(result.stdout)
    return path


@pytest.fixture
def offered(script, tmp_path):
    (tmp_path / "train.py").write_text("")
    (tmp_path / "runs").mkdir()

    def ask(*words):
        command = ["bash", "--norc", "-c", ASK, "bash", str(script), "premortem", *words]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert result.stderr == ""
        return set(result.stdout.split())

    return ask


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("", set(cli.VERBS)),
        ("li", {"lint"}),
        ("lint --unsafe", {"--unsafe-fixes"}),
        ("ckpt ver", {"verify"}),
        ("ckpt restore --fo", {"--force", "--format"}),
        ("ckpt verify tr", {"train.py"}),
        ("lint --format ", {"text", "json", "sarif", "github"}),
        ("lint --format s", {"sarif"}),
        ("lint tr", {"train.py"}),
        ("lint --findings tr", {"train.py"}),
        ("run tr", {"train.py"}),
        ("run --quiet tr", {"train.py"}),
        ("run --policy ", set(command.POLICIES)),
        ("run --folder r", {"runs"}),
        ("explain PM501", {"PM501"}),
        ("explain dropped-t", {"dropped-tensor-result"}),
        ("completion ", set(SHELLS)),
    ],
)
def test_bash_offers_what_fits(line, wanted, offered):
    assert offered(*line.split(" ")) == wanted


@pytest.mark.parametrize("verb", cli.VERBS)
def test_every_option_is_offered(verb, offered):
    if shutil.which("bash") is None:
        pytest.skip("there is no bash here")
    assert {name for name in cli.VERBS[verb].parser().options if name.startswith("--")} <= offered(verb, "--")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_get_a_script_that_they_can_read(shell, capsys, tmp_path):
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(verb in script for verb in cli.VERBS)
    assert "unsafe-fixes" in script
    if shutil.which(shell):
        file = tmp_path / "script"
        file.write_text(script)
        subprocess.run([shell, "-n", str(file)], check=True, env={**os.environ, "HOME": str(Path(tmp_path))})


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("", "which shell? there are bash, zsh, fish"),
        ("bsh", "did you mean `bash`?"),
        ("tcl", "there are bash, zsh, fish"),
    ],
)
def test_a_shell_that_is_not_known(line, sentence, capsys):
    assert cli.main(["completion", *line.split()]) == 2
    assert capsys.readouterr() == ("", f"premortem: `premortem completion`: {sentence}\n")
