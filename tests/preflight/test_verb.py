"""`premortem check` as a person calls it: the page, the files, the exit codes."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from premortem import catalog
from premortem.command_line import Command
from premortem.errors import VaultError
from premortem.findings import Certainty, Finding, Severity, Where
from premortem.preflight import command as check_command
from premortem.preflight import page, verb
from premortem.preflight.environment.budget import Budget
from premortem.preflight.environment.checks.deadline_too_close import DeadlineTooClose
from premortem.preflight.project import Part
from premortem.terminal.progress import Progress
from tests import starting

HEALTHY = "import torch\n\nmodel = torch.nn.Linear(2, 2)\nprint(model)\n"
BROKEN = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--amp", type=bool, default=False)
args = parser.parse_args()
"""


def check(folder, *words):
    command = [sys.executable, "-m", "premortem", "check", "--no-rehearsal", *words]
    return starting.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def options():
    return check_command.parser().parse([])


def test_a_healthy_script_is_fine_and_nothing_is_written(tmp_path):
    (tmp_path / "train.py").write_text(HEALTHY)
    done = check(tmp_path, "train.py", "--epochs", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "premortem check train.py --epochs 3"
    assert lines[-1].startswith("Nothing speaks against this run.")
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]


def test_the_four_sections_come_in_the_order_of_their_price(tmp_path):
    (tmp_path / "train.py").write_text(HEALTHY)
    lines = check(tmp_path, "train.py").stdout.splitlines()
    heads = [line for line in lines if line.startswith(("Environment", "Configuration", "Data", "Rehearsal"))]
    assert [head.partition("  ")[0] for head in heads] == [title for title, _survey in verb.PARTS]


def test_an_error_is_exit_code_1_and_has_no_step(tmp_path):
    (tmp_path / "train.py").write_text(BROKEN)
    done = check(tmp_path, "train.py", "--amp", "False")
    assert done.returncode == 1
    assert "error PM635 switch-always-on (measured)" in done.stdout
    assert "> 4 │ parser.add_argument" in done.stdout
    assert "at step" not in done.stdout
    assert done.stdout.splitlines()[-1].startswith("This run is broken: 1 error.")


def test_the_findings_have_the_contract_of_run(tmp_path):
    (tmp_path / "train.py").write_text(BROKEN)
    check(
        tmp_path, "--findings", "deep/f.json", "--json", "page.json", "--quiet", "train.py", "--amp", "False"
    )
    record = json.loads((tmp_path / "deep" / "f.json").read_text())
    assert record["run"]["verb"] == "check"
    assert record["run"]["exit_code"] == 1
    assert record["run"]["argv"] == ["train.py", "--amp", "False"]
    (finding,) = record["findings"]
    assert (finding["code"], finding["family"], finding["severity"]) == ("PM635", "config", "error")
    assert finding["where"]["line"] == 4
    whole = json.loads((tmp_path / "page.json").read_text())
    assert whole["verdict"] == "broken"
    assert [part["title"] for part in whole["parts"]] == [title for title, _survey in verb.PARTS]
    assert whole["parts"][1]["findings"] == record["findings"]


def test_quiet_prints_nothing(tmp_path):
    (tmp_path / "train.py").write_text(BROKEN)
    done = check(tmp_path, "--quiet", "train.py", "--amp", "no")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "which script? premortem check train.py, or premortem check --data DIR"),
        (["nowhere.py"], "there is no script `nowhere.py`"),
        (["--data", "nowhere"], "`--data nowhere`: there is no such folder"),
        (["--steps", "0", "train.py"], "`--steps` counts optimizer steps: at least 1"),
        (["--seconds", "0", "train.py"], "`--seconds` must be more than 0"),
        (["--quota", "lots", "train.py"], "`--quota lots`"),
        (["--findings", "train.py", "train.py"], "would overwrite a Python file"),
        (["-m"], "`-m` needs the name of a module: premortem check -m package.module"),
    ],
)
def test_a_wrong_call_is_one_sentence_and_exit_code_2(words, sentence, tmp_path):
    (tmp_path / "train.py").write_text(HEALTHY)
    done = check(tmp_path, *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_module_is_checked_as_well(tmp_path):
    package = tmp_path / "work"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "train.py").write_text(BROKEN)
    done = check(tmp_path, "-m", "work.train", "--amp", "0")
    assert done.returncode == 1
    assert "work/train.py:4" in done.stdout


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("def broken(:\n", "PM590"),
        ("", "Nothing speaks against this run."),
    ],
)
def test_bad_scripts_give_a_page_and_no_traceback(text, sentence, tmp_path):
    (tmp_path / "train.py").write_text(text)
    done = check(tmp_path, "train.py")
    assert sentence in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.fixture
def checking(options, tmp_path, monkeypatch):
    """With parts that the test chooses; the last one is the rehearsal."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(HEALTHY)

    def made(*parts, **more):
        four = (*parts[:-1], *[fine] * (4 - len(parts)), parts[-1])
        monkeypatch.setattr(verb, "PARTS", tuple((f"part {n}", survey) for n, survey in enumerate(four)))
        given = argparse.Namespace(**{**vars(options), **more})
        made = verb.Checking(verb.project(given, Command([], "train.py", module=False, argv=[])))
        made.run(Progress())
        return made

    return made


def fine(project, tell):
    return Part(title="fine")


def faulty(project, tell):
    raise KeyError("lost")


def test_a_fault_of_ours_is_one_sentence_and_the_others_go_on(checking, capsys):
    done = checking(faulty, fine)
    assert "could not be looked at, for a fault of premortem's own (KeyError: 'lost'" in done.parts[0].skipped
    assert done.parts[1].title == "fine"
    assert done.exit_code == 0
    page.show(done.project, done.parts, 1.0)
    assert "Not looked at: part 0." in capsys.readouterr().out


def test_what_a_part_cannot_do_is_its_sentence(checking):
    def cannot(project, tell):
        raise VaultError("the archive cannot be opened")

    assert checking(cannot, fine).parts[0].skipped == "the archive cannot be opened"


def test_ctrl_c_keeps_what_was_found(checking, capsys):
    def found(project, tell):
        part = Part(title="first")
        part.judge((DeadlineTooClose,), Budget(eta=7200, deadline=60))
        return part

    def interrupted(project, tell):
        raise KeyboardInterrupt

    done = checking(found, interrupted, fine)
    assert done.exit_code == 130
    assert [finding.code for finding in done.findings] == ["PM613"]
    page.show(done.project, done.parts, 1.0, interrupted="1 of 3 parts")
    said = capsys.readouterr().out
    assert "Interrupted after 1 of 3 parts: this run " in said
    page.show(done.project, [], 1.0, interrupted="0 of 3 parts")
    assert "Nothing speaks" not in capsys.readouterr().out


def test_the_time_of_the_rehearsal_meets_deadline_and_quota(checking):
    def machine(project, tell):
        return Part(title="machine", record={"booking": {"devices": 2}, "use": {"devices": 1}})

    def rehearsed(project, tell):
        return Part(title="rehearsal", record={"eta_seconds": 10 * 3600.0})

    done = checking(machine, fine, fine, rehearsed, deadline="9h", quota="15h")
    late, spent = done.findings
    assert (late.code, late.severity) == ("PM613", Severity.WARNING)
    assert "10 h" in late.message
    assert spent.code == "PM614"
    assert "20 h" in spent.message
    assert "With 1 it would be enough" in spent.cause
    assert checking(machine, fine, fine, rehearsed, deadline="11h", quota="21h").findings == []


def test_what_the_rehearsal_saves_meets_the_disk(checking):
    def rehearsed(project, tell):
        record = {"checkpoint_bytes": 1 << 60, "checkpoint_count": 3, "checkpoint_folder": "out"}
        return Part(title="rehearsal", record=record)

    (finding,) = checking(fine, rehearsed).findings
    assert (finding.code, finding.severity) == ("PM606", Severity.ERROR)


def test_one_root_cause_is_one_finding(checking):
    """The machine knows that the place is wiped; lint suspects it from the path."""
    from pathlib import Path

    from premortem.findings import Certainty, Finding, Where
    from premortem.preflight.environment.checks.output_will_be_wiped import OutputWillBeWiped
    from premortem.preflight.environment.machine_facts import Facts, Output

    def machine(project, tell):
        part = Part(title="machine")
        place = Output(path=Path("/content/x"), where=Where("t.py", 3), wiped="a Colab session", certain=True)
        part.judge((OutputWillBeWiped,), Facts(outputs=[place]))
        return part

    def code(project, tell):
        said = Finding(
            code="PM544",
            name="ephemeral-output-path",
            family="persistence",
            severity=Severity.WARNING,
            certainty=Certainty.SUSPECTED,
            step=0,
            message="saved only under /content",
        )
        return Part(title="code", findings=[said])

    (finding,) = checking(machine, code).findings
    assert finding.code == "PM608"
    assert finding.evidence["also"] == ["ephemeral-output-path"]


def test_a_real_ctrl_c_ends_the_children_and_writes_the_findings(tmp_path):
    """While the driver's tool hangs, as it does on a sick machine."""
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    asleep = tmp_path / "asleep"
    tool.write_text(f"#!{sys.executable}\nimport time\nopen({str(asleep)!r}, 'w').close()\ntime.sleep(60)\n")
    tool.chmod(0o755)
    (tmp_path / "train.py").write_text(HEALTHY)
    command = [sys.executable, "-m", "premortem", "check", "--findings", "f.json", "train.py"]
    environment = {**os.environ, "PATH": f"{tool.parent}{os.pathsep}{os.environ['PATH']}"}
    # In a group of its own: only the process itself gets the signal, and must end the others.
    running = starting.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        for _turn in range(300):
            if asleep.exists():
                break
            time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    finally:
        running.kill()
    assert running.returncode == 130, err
    assert "Traceback" not in out + err
    assert "Interrupted after 0 of 4 parts" in out
    assert json.loads((tmp_path / "f.json").read_text())["run"]["reason"] == "interrupted"


def test_a_rate_that_is_text_is_told_once_with_its_line(checking):
    """By lint from the config, and by the rehearsal when the optimizer is built: the config is the cause."""
    from premortem.findings import Certainty, Finding

    def said(code, name, family):
        facts = {"severity": Severity.ERROR, "certainty": Certainty.MEASURED, "step": 0, "message": name}
        return lambda _project, _tell: Part(
            title=code, findings=[Finding(code=code, name=name, family=family, **facts)]
        )

    written = said("PM560", "number-read-as-string", "config")
    seen = said("PM214", "learning-rate-not-a-number", "lr")
    assert [finding.code for finding in checking(written, seen).findings] == ["PM560"]
    assert [finding.code for finding in checking(fine, seen).findings] == ["PM214"]


@pytest.mark.parametrize(
    ("cause", "consequence"),
    [
        ("scheduler-stepped-per-batch", "schedule-ends-before-the-run"),
        ("scheduler-stepped-per-epoch", "schedule-ends-before-the-run"),
        ("scheduler-stepped-twice", "schedule-ends-before-the-run"),
    ],
)
def test_what_a_detector_and_a_check_say_of_one_mistake_is_one_finding(checking, cause, consequence):
    """The rehearsal's detectors see the mistake, the check sees what follows from it."""

    def found(name):
        card = catalog.lookup(name).card
        return Finding(
            code=card.code,
            name=card.name,
            family=card.family,
            severity=card.severity,
            certainty=Certainty.MEASURED,
            step=3,
            message=name,
            where=Where("train.py", len(name)),
        )

    def rehearsed(project, tell):
        return Part(title="rehearsal", findings=[found(cause), found(consequence)])

    done = checking(fine, rehearsed)
    assert [(each.name, each.evidence["also"]) for each in done.findings] == [(cause, [consequence])]
