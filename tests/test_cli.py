"""The command line: what belongs to premortem, what to the script, and what a wrong call is told."""

import json
import subprocess
import sys
import types
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import premortem
from premortem import cli, command_line
from premortem.run import command as run_command
from tests.units import only_stand_ins


@dataclass(kw_only=True)
class RunOptions:
    target: str
    module: bool
    argv: list[str]
    findings: Path | None
    policy: str
    quiet: bool
    status: bool
    folder: Path | None
    autopsy: bool = True
    quarantine: object = None
    publish: str | None = None
    mirror: str | None = None
    deadline: object = None
    sinks: list[object] = field(default_factory=list)
    given: list[str] = field(default_factory=list, compare=False)
    settings: object = field(default=None, compare=False)


@pytest.fixture
def launched(monkeypatch):
    """Stands in for premortem.run.launch; keeps what it was asked to run."""
    calls = []

    def run(options):
        calls.append(options)
        return 7

    room = types.ModuleType("premortem.run.launch")
    room.run = run
    monkeypatch.setattr("premortem.run.options.RunOptions", RunOptions)
    monkeypatch.setitem(sys.modules, "premortem.run.launch", room)
    monkeypatch.setattr(premortem.run, "launch", room, raising=False)
    return calls


def options(target="train.py", argv=(), **changes):
    plain = {
        "module": False,
        "findings": None,
        "policy": "protect",
        "quiet": False,
        "status": True,
        "folder": None,
        "autopsy": True,
    }
    return RunOptions(target=target, argv=list(argv), **{**plain, **changes})


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("train.py", options()),
        ("train.py --epochs 3", options(argv=["--epochs", "3"])),
        ("train.py --findings x --quiet", options(argv=["--findings", "x", "--quiet"])),
        ("--no-autopsy train.py --no-autopsy", options(autopsy=False, argv=["--no-autopsy"])),
        ("--no-status train.py --no-status", options(status=False, argv=["--no-status"])),
        ("--quiet train.py --findings x", options(quiet=True, argv=["--findings", "x"])),
        ("--findings out.json train.py x", options(findings=Path("out.json"), argv=["x"])),
        ("--findings=out.json train.py", options(findings=Path("out.json"))),
        ("--policy observe train.py", options(policy="observe")),
        ("--policy=strict --folder runs/a train.py", options(policy="strict", folder=Path("runs/a"))),
        ("-- train.py", options()),
        ("--quiet -- train.py -- x", options(quiet=True, argv=["--", "x"])),
        ("-- --odd-name.py -m", options("--odd-name.py", argv=["-m"])),
        ("train.py -- x", options(argv=["--", "x"])),
        ("train.py -m --help --version", options(argv=["-m", "--help", "--version"])),
        ("-m pkg.mod --epochs 3", options("pkg.mod", ["--epochs", "3"], module=True)),
        ("--quiet -m pkg.mod --quiet", options("pkg.mod", ["--quiet"], module=True, quiet=True)),
        ("-mpkg.mod -m x", options("pkg.mod", ["-m", "x"], module=True)),
    ],
)
def test_what_follows_the_script_is_the_scripts(line, expected, launched):
    assert cli.main(["run", *line.split()]) == 7, "the exit code is the run's"
    assert launched == [expected]


@given(st.lists(st.text()))
def test_the_script_gets_its_arguments_as_they_were(words):
    command = command_line.split(run_command.parser(), ["--quiet", "train.py", *words])
    assert command == command_line.Command(["--quiet"], "train.py", module=False, argv=words)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("rnu train.py", "there is no verb `rnu`; did you mean `run`?"),
        (
            "fly",
            "there is no verb `fly`; there are run, check, fit, replay, why, report, ui, sweep, lint, server, mcp, agents, ckpt, drill, casebook, config, explain, completion, demo",
        ),
        ("train.py --epochs 3", "there is no verb `train.py`; did you mean `premortem run train.py`?"),
        ("--verison", "`premortem` has no option `--verison`; did you mean `--version`?"),
        ("run", "which script? premortem run train.py"),
        ("run --quiet", "which script? premortem run train.py"),
        ("run --", "which script? premortem run train.py"),
        ("run -m", "`-m` needs the name of a module: premortem run -m package.module"),
        ("run -m --quiet mod", "`-m` needs the name of a module: premortem run -m package.module"),
        ("run --finding x t.py", "`premortem run` has no option `--finding`; did you mean `--findings`?"),
        ("run --quite t.py", "`premortem run` has no option `--quite`; did you mean `--quiet`?"),
        (
            "run --epochs 3 t.py",
            "`premortem run` has no option `--epochs`; options of your script go after its name",
        ),
        ("run --quiet=1 t.py", "argument --quiet: ignored explicit argument '1'"),
        ("run --findings", "`--findings` needs a value: --findings FILE.json"),
        ("run --findings --quiet t.py", "`--findings` needs a value: --findings FILE.json"),
        (
            "run --findings t.py out.json",
            "`--findings t.py` would overwrite a Python file; give it a .json file",
        ),
        ("run --policy protct t.py", "there is no policy `protct`; did you mean `protect`?"),
        ("run --policy x t.py", "there is no policy `x`; there are protect, observe, strict"),
        ("drill --seconds 0 t.py", "`--seconds` must be more than 0"),
        ("fit --seconds -3 t.py", "`--seconds` needs a value: --seconds S"),
        ("ckpt prove --seconds nan t.py", "`--seconds` must be more than 0"),
        ("why -m", "`-m` needs the name of a module: premortem why -m package.module"),
        ("explain", "which finding? premortem explain CODE|NAME, or --all"),
        ("explain T102", "no finding is called `T102`; did you mean `T101`?"),
        ("explain --al", "`premortem explain` has no option `--al`; did you mean `--all`?"),
        ("demo now", "`premortem demo` has no option `now`; see `premortem demo --help`"),
    ],
)
def test_a_wrong_call_gets_one_sentence_and_exit_code_2(line, sentence, launched, monkeypatch, capsys):
    only_stand_ins(monkeypatch)
    assert cli.main(line.split()) == 2
    assert capsys.readouterr() == ("", f"premortem: {sentence}\n")
    assert launched == []


def test_without_a_verb_the_help_is_shown(capsys):
    assert cli.main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    for name, verb in cli.VERBS.items():
        assert f"  {name:<11} {verb.about}\n" in err


def test_the_version_is_the_packages(capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"premortem {premortem.__version__}\n"


@pytest.mark.parametrize("verb", cli.VERBS)
def test_every_verb_explains_itself(verb, capsys):
    with pytest.raises(SystemExit) as left:
        cli.main([verb, "--help"])
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: premortem {verb}")


def test_the_policies_are_all_in_the_help(capsys):
    with pytest.raises(SystemExit):
        cli.main(["run", "--help"])
    text = capsys.readouterr().out
    assert all(policy in text for policy in run_command.POLICIES)


# --- explain ---------------------------------------------------------------------------------

ORPHAN = """\
T101 orphan-parameter (error, optimizer-ownership, since 0.1)

A trainable parameter that no
optimizer holds.

## Why it matters
It gets a gradient | and never moves.

## What to do
Build the optimizer *last*.
"""
SLEEPY = """\
T001 sleepy-scheduler (warning, scheduler, since 0.1)

A scheduler that never steps.
"""


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["T101"], ORPHAN),
        (["orphan-parameter"], ORPHAN),
        (["t101", "T001"], f"{ORPHAN}\n{SLEEPY}"),
        (["--all"], f"{SLEEPY}\n{ORPHAN}"),
    ],
)
def test_a_pipe_gets_the_page_as_it_is(words, text, monkeypatch, capsys):
    only_stand_ins(monkeypatch)
    assert cli.main(["explain", *words]) == 0
    assert capsys.readouterr() == (text, "")


def test_a_terminal_gets_the_page_rendered(monkeypatch, capsys):
    only_stand_ins(monkeypatch)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    assert cli.main(["explain", "T101"]) == 0
    out = capsys.readouterr().out
    assert "A trainable parameter that no optimizer holds." in out
    assert "Build the optimizer last." in out
    assert "##" not in out


def test_a_reader_that_has_seen_enough_is_no_error():
    script = (
        "from premortem import cli, detectors; from tests.units import UNITS; "
        "detectors.ALL = UNITS * 5000; exit(cli.main(['explain', '--all']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(__file__).parent.parent,
    ) as process:
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


# --- from outside ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "door", [["-m", "premortem"], ["-c", "from premortem.cli import main; exit(main())"]]
)
def test_the_exit_code_reaches_the_shell(door):
    result = subprocess.run([sys.executable, *door, "rnu"], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "premortem: there is no verb `rnu`; did you mean `run`?\n"


def test_the_casebook_is_run_where_it_is_at_hand(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["casebook", "--quick"]) == 2
    assert "there is no casebook/ in this folder" in capfd.readouterr().err
    (tmp_path / "casebook").mkdir()
    (tmp_path / "casebook" / "run.py").write_text("import sys\nprint(sys.argv[1:])\nsys.exit(7)\n")
    assert cli.main(["casebook", "--only", "ris,I3"]) == 7
    assert capfd.readouterr().out == "['--only', 'ris,I3']\n"


def test_explain_as_json_has_the_page_and_the_card(capsys):
    assert cli.main(["explain", "--format", "json", "PM211"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert (entry["code"], entry["name"], entry["severity"]) == ("PM211", "learning-rate-zero", "error")
    assert "learning-rate-zero" in entry["page"]
    assert cli.main(["explain", "--format", "xml", "PM211"]) == 2
