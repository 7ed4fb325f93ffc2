"""What a person reads, word for word."""

import io
import linecache
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from premortem.findings import Certainty, Finding, Patch, Severity, Where
from premortem.terminal.console import Console
from premortem.terminal.frame import Frame

SCRIPT = """\
def main():
    model = Net()
    optimizer = AdamW(model.parameters())
    model.head = Linear(64, 5)
\ttrain(model, optimizer)
"""


def finding(**changes):
    facts = {
        "code": "T101",
        "name": "orphan-parameter",
        "family": "optimizer-ownership",
        "severity": Severity.ERROR,
        "certainty": Certainty.MEASURED,
        "step": 1,
        "message": "`model.head.weight` gets a gradient and no optimizer holds it",
    }
    return Finding(**{**facts, **changes})


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "finetune.py"
    path.write_text(SCRIPT)
    yield str(path)
    linecache.clearcache()


def test_a_finding_says_what_where_how_much_why_and_what_to_do(script, capsys):
    Console().finding(
        finding(
            where=Where(script, 3, "head", "model.head.weight"),
            evidence={"parameters": 2, "gradient_norm": 0.412345},
            cause="The optimizer was built before the head was replaced.",
            remedy="Build the optimizer after `model.head` is replaced.",
        )
    )
    out, err = capsys.readouterr()
    assert out == "", "stdout is the script's"
    assert (
        err
        == """
error T101 orphan-parameter at step 1 (measured)
  `model.head.weight` gets a gradient and no optimizer holds it
  where  finetune.py:3, module `head`, parameter `model.head.weight`
           2 │ model = Net()
         > 3 │ optimizer = AdamW(model.parameters())
           4 │ model.head = Linear(64, 5)
  seen   parameters 2, gradient norm 0.4123
  why    The optimizer was built before the head was replaced.
  fix    Build the optimizer after `model.head` is replaced.
  more   premortem explain T101
"""
    )


def test_what_is_not_known_is_left_out(capsys):
    Console().finding(finding(severity=Severity.INFO, certainty=Certainty.SUSPECTED))
    assert (
        capsys.readouterr().err
        == """
info T101 orphan-parameter at step 1 (suspected)
  `model.head.weight` gets a gradient and no optimizer holds it
  more   premortem explain T101
"""
    )


def test_the_first_and_the_last_line_have_one_neighbour(script, capsys):
    console = Console()
    console.finding(finding(where=Where(script, 1)))
    console.finding(finding(where=Where(script, 5)))
    assert [line for line in capsys.readouterr().err.splitlines() if "│" in line] == [
        "         > 1 │ def main():",
        "           2 │     model = Net()",
        "           4 │ model.head = Linear(64, 5)",
        "         > 5 │ train(model, optimizer)",
    ]


@pytest.mark.parametrize(
    ("where", "place"),
    [
        (Where("/nowhere/gone.py", 12), "/nowhere/gone.py:12"),
        (Where("<stdin>", 1), "<stdin>:1"),
        (Where(file=None, line=None, module="encoder.0"), "module `encoder.0`"),
        (Where(file="finetune.py", line=99), "finetune.py:99"),
    ],
)
def test_code_that_cannot_be_read_is_left_out(where, place, script, capsys):
    Console().finding(finding(where=where))
    assert capsys.readouterr().err.splitlines()[3:] == [
        f"  where  {place}",
        "  more   premortem explain T101",
    ]


def test_a_file_outside_the_current_folder_keeps_its_whole_path(script, tmp_path, monkeypatch, capsys):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    Console().finding(finding(where=Where(script, 3)))
    assert f"  where  {script}:3\n" in capsys.readouterr().err


def test_long_text_is_wrapped_under_its_label_and_paths_stay_whole(capsys):
    path = "/data/" + "very_long_folder_name/" * 6 + "train.csv"
    Console().finding(finding(cause=f"The file {path} is read again and again. " + "So it goes. " * 8))
    lines = capsys.readouterr().err.splitlines()[3:-1]
    assert lines == [
        "  why    The file",
        f"         {path}",
        "         is read again and again. So it goes. So it goes. So it goes. So it goes. So it goes. So it",
        "         goes. So it goes. So it goes.",
    ]


def test_evidence_is_cut_to_what_a_person_reads(capsys):
    evidence = {
        "names": ["a.weight", "a.bias", "b.weight", "b.bias"],
        "norms": {"a": 1.23456, "b": float("nan")},
        "share": 1 / 3,
        "phase": "training",
        "none": None,
        "five": 5,
        "six": 6,
        "seven": 7,
    }
    Console().finding(finding(evidence=evidence))
    assert capsys.readouterr().err.splitlines()[3:-1] == [
        "  seen   names a.weight, a.bias, b.weight and 1 more, norms {a: 1.235, b: nan}, share 0.3333, phase",
        "         training, none None, five 5, and 2 more",
    ]


def test_text_of_the_run_is_shown_as_it_is_and_does_not_steer_the_terminal(capsys):
    Console().finding(finding(message="[bold]net[/bold] :smile: \x1b[31mred\x07 [/]"))
    assert capsys.readouterr().err.splitlines()[2] == r"  [bold]net[/bold] :smile: \x1b[31mred\x07 [/]"


@settings(deadline=None)  # a machine under load is no fault of the text
@given(st.text(), st.text(), st.dictionaries(st.text(), st.text()))
def test_whatever_the_text_a_finding_can_be_shown(message, name, evidence):
    stream, real = io.StringIO(), sys.stderr
    sys.stderr = stream
    try:
        console = Console()
    finally:
        sys.stderr = real
    console.finding(finding(message=message, name=name, evidence=evidence))
    assert stream.getvalue().startswith("\nerror T101 ")
    assert "\x1b" not in stream.getvalue()


# --- the summary -----------------------------------------------------------------------------


def summary(findings=(), steps=1200, journal=None, stopped=False, **more):
    Console().summary(list(findings), steps, journal, stopped, **more)


def test_the_summary_counts_and_points_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    found = [
        finding(),
        finding(code="T001", severity=Severity.WARNING),
        finding(),
        finding(code="T002", severity=Severity.INFO),
    ]
    summary(found, journal=tmp_path / ".premortem" / "runs" / "0412")
    assert (
        capsys.readouterr().err
        == """
premortem watched 1,200 steps: 2 errors, 1 warning, 1 remark
  premortem report .premortem/runs/0412; premortem explain T101 T001 T002
"""
    )


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        ({}, "premortem watched 1,200 steps: nothing to report"),
        ({"steps": 1}, "premortem watched 1 step: nothing to report"),
        ({"steps": 0}, "warning: premortem saw no training step: no optimizer made a step"),
        (
            {"steps": 0, "reason": "torch was never imported"},
            "warning: premortem saw no training step: torch was never imported",
        ),
        (
            {"children": 2},
            "premortem watched 1,200 steps in this process and 2 child processes: nothing to report",
        ),
        (
            {"children": 1, "here": False},
            "premortem watched 1,200 steps in 1 child process: nothing to report",
        ),
        (
            {"children": 3, "here": False, "ended": 2},
            "premortem watched 1,200 steps in 3 child processes and stopped 2 of them: nothing to report",
        ),
    ],
)
def test_a_healthy_run_gets_one_line(facts, line, capsys):
    summary(**facts)
    assert capsys.readouterr().err == f"\n{line}\n"


def test_what_was_not_looked_at_is_said(capsys):
    summary(missed=["the past of this run: no journal was kept", "overflow: the diagnosis failed"])
    assert capsys.readouterr().err == (
        "\npremortem watched 1,200 steps: nothing to report\n"
        "  not looked at: the past of this run: no journal was kept\n"
        "  not looked at: overflow: the diagnosis failed\n"
    )


def test_a_stopped_run_is_told(capsys):
    summary([finding()], steps=312, stopped=True)
    assert capsys.readouterr().err == (
        "\npremortem stopped this run after 312 steps: 1 error\n  premortem explain T101\n"
    )


def test_a_long_line_is_cut_off_where_its_change_can_be_seen():
    long = "settings = {key: value for key, value in yaml.safe_load(open(path)).items()} if path else"
    diff = f'--- a\n+++ b\n@@ -1 +1 @@\n-{long} {{"lr": 0.01}}\n+{long} {{"lr": 0.001}}\n'
    shown = [line.plain.strip() for line in Frame(80).changes(diff, 8)]
    assert [line[-20:] for line in shown] == [
        'h else {"lr": 0.01}'.rjust(20, "t"),
        ' else {"lr": 0.001}'.rjust(20, "h"),
    ]
    assert all(line[:5] in {"- ...", "+ ..."} for line in shown)


# --- manners ---------------------------------------------------------------------------------


def test_quiet_shows_nothing_but_problems_of_its_own_use(capsys):
    console = Console(quiet=True)
    console.finding(finding())
    console.summary([finding()], 1, Path("journal"), stopped=True)
    assert capsys.readouterr() == ("", "")
    console.problem("there is no script `[/] train.py`")
    assert capsys.readouterr() == ("", "premortem: there is no script `[/] train.py`\n")


class Screen(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def on_screen(monkeypatch):
    """A terminal instead of stderr. Not a fixture: pytest takes stderr back before the test begins."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys, "stderr", Screen())
    return sys.stderr


@pytest.mark.parametrize(
    ("severity", "code"), [(Severity.ERROR, "31"), (Severity.WARNING, "33"), (Severity.INFO, "36")]
)
def test_a_terminal_gets_the_colour_of_the_severity(severity, code, monkeypatch):
    screen = on_screen(monkeypatch)
    Console().finding(finding(severity=severity))
    assert f"\x1b[1;{code}m{severity.value}\x1b[0m" in screen.getvalue()


def test_no_color_is_respected(monkeypatch):
    screen = on_screen(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    Console().finding(finding())
    Console().summary([finding()], 1, None, stopped=False)
    # Bold and dim are no colours, and rich keeps them.
    assert set(re.findall(r"\x1b\[([0-9;]+)m", screen.getvalue())) == {"0", "1", "2"}


def test_a_narrow_terminal_gets_short_lines(script, monkeypatch):
    screen = on_screen(monkeypatch)
    Path(script).write_text("x = " + " + ".join(["1"] * 40) + "\n")
    Console().finding(finding(cause="word " * 40, where=Where(script, 1)))
    lines = re.sub(r"\x1b\[[0-9;]+m", "", screen.getvalue()).splitlines()
    assert max(map(len, lines)) <= 60
    assert "         > 1 │ x = 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 ..." in lines


def test_a_stream_without_unicode_gets_a_plain_gutter(script, monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(raw, encoding="ascii"))
    Console().finding(finding(where=Where(script, 3)))
    assert b"> 3 | optimizer" in raw.getvalue()


@pytest.mark.parametrize("stream", [None, "closed"])
def test_a_terminal_that_is_gone_does_not_hurt(stream, monkeypatch):
    gone = None
    if stream == "closed":
        gone = io.StringIO()
        gone.close()
    monkeypatch.setattr(sys, "stderr", gone)
    Console().finding(finding())


DIFF = """\
--- finetune.py
+++ finetune.py
@@ -1,5 +1,6 @@
 def main():
     for x, y in loader:
         loss = criterion(model(x), y)
+        optimizer.zero_grad()
         loss.backward()
         optimizer.step()
"""


def test_a_patch_is_drawn_with_the_line_that_it_stands_before(capsys):
    Console().finding(
        finding(remedy="Clear them.").with_patch(Patch(DIFF, "`lint --fix` makes this change:"))
    )
    card = capsys.readouterr().err
    assert (
        """\
  fix    Clear them.
  help:  `lint --fix` makes this change:
         + optimizer.zero_grad()
           loss.backward()
  more   premortem explain T101
"""
        in card
    )
    assert "seen" not in card, "what to do is no evidence"


def test_a_line_that_moves_is_drawn_with_what_it_moves_behind(capsys):
    moved = "--- t.py\n+++ t.py\n@@ -1,3 +1,3 @@\n+model.head = new()\n optimizer = SGD()\n-model.head = new()\n train()\n"
    Console().finding(finding().with_patch(Patch(moved)))
    assert (
        """\
  help:  this change:
         + model.head = new()
           optimizer = SGD()
         - model.head = new()
"""
        in capsys.readouterr().err
    )


def test_values_stand_beside_the_carets_or_under_them_where_there_is_no_room(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "train.py"
    path.write_text(
        "y = head(flat)\nz = classifier_of_everything_that_has_a_name(flat, and_more, of_that_kind)\n"
    )
    shapes = {"flat": "(8, 3600)"}
    for line in (1, 2):
        Console().finding(finding(message="", where=Where(str(path), line), evidence={"shapes": shapes}))
    shown = capsys.readouterr().err
    assert "             │     ^^^^^^^^^^ flat: (8, 3600)\n" in shown
    assert re.search(r"\n             │     \^{66,}\n             │     flat: \(8, 3600\)\n", shown)


def test_a_patch_survives_the_findings_file():
    kept = Finding.from_json(finding().with_patch(Patch(DIFF, "how")).to_json())
    assert kept.patch == Patch(DIFF, "how")
    assert kept.to_json()["evidence"] == {"patch": {"diff": DIFF, "title": "how"}}
    assert finding().with_patch(None).patch is None
