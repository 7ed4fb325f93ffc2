"""What `premortem lint` prints: for people, for pipes, for other tools."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from premortem.findings import Severity
from premortem.lint.diagnostics import Edit, Fix, edited
from premortem.lint.listing import Listing
from premortem.lint.output import (
    FORMATS,
    frames,
    github,
    renderer,
    sarif,
    statistics,
    statistics_renderer,
    text,
)
from tests.lint.reports import CODE, assigned, report


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(CODE, encoding="utf-8")


def framed(one, width=100):
    return [line.plain for line in frames.Reports(width).of(one)]


# --- text ------------------------------------------------------------------------------------


def test_a_pipe_gets_one_line_for_each_report_and_a_verdict():
    found = [report(fix=assigned()), report(severity=Severity.INFO, remedy="", path="b.py")]
    assert text.render(found, 12) == (
        "train.py:3:5: error PM501 dropped-tensor-result: `x.to()` returns a new tensor\n"
        "    Write `x = x.to(...)`.\n"
        "b.py:3:5: info PM501 dropped-tensor-result: `x.to()` returns a new tensor\n"
        "1 error, 1 remark in 12 files; 1 can be fixed with `--fix`\n"
    )


@pytest.mark.parametrize(
    ("found", "files", "sentence"),
    [
        ([], 1, "nothing to report in 1 file"),
        ([report()] * 2, 1200, "2 errors in 1,200 files"),
        (
            [report(fix=assigned()), report(fix=Fix(assigned().edits, safe=False))],
            1,
            "2 errors in 1 file; 1 can be fixed with `--fix`, 1 more with `--unsafe-fixes`",
        ),
        (
            [report(fix=Fix(assigned().edits, safe=False))],
            1,
            "1 error in 1 file; 1 can be fixed with `--unsafe-fixes`",
        ),
    ],
)
def test_the_verdict_counts(found, files, sentence):
    assert text.verdict(found, files) == sentence


def test_a_terminal_gets_the_code_the_range_and_the_fix_as_a_diff():
    assert framed(report(fix=assigned())) == [
        "error PM501 dropped-tensor-result",
        "  `x.to()` returns a new tensor",
        "  where  train.py:3:5",
        "           2 │ for x in loader:",
        "         > 3 │     x.to(device)",
        "             │     ^^^^^^^^^^^^",
        '           4 │     print("done")',
        "  fix    Write `x = x.to(...)`.",
        "         - x.to(device)",
        "         + x = x.to(device)",
        "  more   premortem explain PM501",
    ]


@pytest.mark.parametrize(
    ("code", "column", "end", "code_line", "caret_line"),
    [
        ("\tx.to(d)\n", 2, 9, "         > 1 │ x.to(d)", "             │ ^^^^^^^"),
        ("\ty = 1;\tx.to(d)\n", 9, 16, "         > 1 │ y = 1;  x.to(d)", "             │         ^^^^^^^"),
        (
            '名 = "😀"; x.to(d)\n',
            10,
            17,
            '         > 1 │ 名 = "😀"; x.to(d)',
            "             │ " + " " * 11 + "^^^^^^^",
        ),
        ("x.to(d) # \x1b[31m\n", 1, 8, "         > 1 │ x.to(d) # \ufffd[31m", "             │ ^^^^^^^"),
    ],
)
def test_the_caret_stands_under_the_range(code, column, end, code_line, caret_line):
    Path("train.py").write_text(code, encoding="utf-8")
    shown = framed(report(line=1, end_line=1, column=column, end_column=end))
    assert shown[3:5] == [code_line, caret_line]


def test_a_long_line_is_cut_around_the_range():
    Path("train.py").write_text(f"{'a' * 300}; x.to(d); {'b' * 300}\n", encoding="utf-8")
    shown = framed(report(line=1, end_line=1, column=303, end_column=310), width=80)
    code, caret = shown[3:5]
    assert len(code) <= 80
    assert code[caret.index("^") : caret.rindex("^") + 1] == "x.to(d)"


def test_a_range_of_many_lines_is_cut():
    Path("train.py").write_text("call(\n" + "    1,\n" * 20 + ")\n", encoding="utf-8")
    shown = framed(report(line=1, column=1, end_line=22, end_column=2))
    assert [line for line in shown if ">" in line] == [
        "         > 1 │ call(",
        "         > 2 │     1,",
        "         > 3 │     1,",
        "         > 4 │     1,",
    ]
    assert shown[4] == "             │ ^^^^^"


def test_a_notebook_shows_the_cell():
    cells = [
        {"cell_type": "markdown", "source": "# words"},
        {"cell_type": "code", "source": ["import torch\n", "y = 1"]},
        {"cell_type": "code", "source": "x.to(device)\nz = 2"},
    ]
    Path("a.ipynb").write_text(json.dumps({"cells": cells}))
    fix = assigned("import torch\ny = 1\nx.to(device)\nz = 2\n")
    one = report(path="a.ipynb", cell=3, line=1, end_line=1, column=1, end_column=13, fix=fix)
    shown = framed(one)
    assert shown[2:6] == [
        "  where  a.ipynb:cell 3:1:1",
        "         > 1 │ x.to(device)",
        "             │ ^^^^^^^^^^^^",
        "           2 │ z = 2",
    ]
    assert shown[-3:-1] == ["         - x.to(device)", "         + x = x.to(device)"]


def test_a_file_that_is_gone_or_shorter_by_now_is_still_reported():
    assert framed(report(path="gone.py"))[2:4] == ["  where  gone.py:3:5", "  fix    Write `x = x.to(...)`."]
    assert framed(report(line=99, end_line=99))[2:4] == [
        "  where  train.py:99:5",
        "  fix    Write `x = x.to(...)`.",
    ]


@given(
    st.text(),
    st.integers(1, 5),
    st.integers(1, 30),
    st.integers(0, 3),
    st.integers(1, 30),
    st.integers(20, 120),
)
def test_no_text_breaks_a_frame(code, line, column, more, end, width):
    listing = Listing(code.encode(errors="replace"))
    frame = frames.Reports(width)
    frame.listing = lambda path: listing
    shown = list(frame.of(report(line=line, column=column, end_line=line + more, end_column=end)))
    assert shown[0].plain == "error PM501 dropped-tensor-result"


def test_a_pipe_does_not_pay_for_rich():
    code = (
        "import sys; from premortem.lint.output import renderer; renderer('text')([], 1); "
        "sys.exit('rich' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=False).returncode == 0


# --- json ------------------------------------------------------------------------------------

KEYS = {"path", "line", "column", "code", "name", "family", "severity", "message", "fixable"}


def test_json_keeps_its_contract():
    (plain, fixable) = json.loads(renderer("json")([report(), report(fix=assigned())], 1))
    assert plain.keys() >= KEYS
    assert {key: plain[key] for key in KEYS} == {
        "path": "train.py",
        "line": 3,
        "column": 5,
        "code": "PM501",
        "name": "dropped-tensor-result",
        "family": report().card.family,
        "severity": "error",
        "message": "`x.to()` returns a new tensor",
        "fixable": False,
    }
    assert fixable["fixable"] is True
    assert json.loads(renderer("json")([], 1)) == []


# --- github ----------------------------------------------------------------------------------


def test_github_shows_an_annotation():
    assert github.render([report()], 1) == (
        "::error title=premortem PM501 dropped-tensor-result,file=train.py,line=3,endLine=3,col=5,endColumn=17"
        "::`x.to()` returns a new tensor. Write `x = x.to(...)`.\n"
    )


@pytest.mark.parametrize(
    ("path", "shown"),
    [("./src/a.py", "src/a.py"), ("src/../a.py", "a.py"), ("/elsewhere/a.py", "/elsewhere/a.py")],
)
def test_github_gets_paths_as_it_knows_them(path, shown):
    assert f"file={shown}," in github.command(report(path=path))
    absolute = str(Path(shown).absolute())
    assert f"file={shown}," in github.command(report(path=absolute))


def test_github_does_not_read_what_is_in_a_message_as_a_command():
    one = report(
        path="a,b:c.py", message="100%\n::error::planted", remedy="", severity=Severity.WARNING, end_line=4
    )
    assert github.command(one) == (
        "::warning title=premortem PM501 dropped-tensor-result,file=a%2Cb%3Ac.py,line=3,endLine=4"
        "::100%25%0A::error::planted.\n"
    )


def test_github_gets_the_cell_of_a_notebook_in_words():
    one = report(path="a.ipynb", cell=3, severity=Severity.INFO, remedy="")
    assert github.command(one) == (
        "::notice title=premortem PM501 dropped-tensor-result,file=a.ipynb"
        "::cell 3, line 3: `x.to()` returns a new tensor.\n"
    )


# --- sarif -----------------------------------------------------------------------------------

# What SARIF 2.1.0 demands and allows of the objects that are used here: (required, allowed beside them).
SHAPES = {
    "log": ({"version", "runs"}, {"$schema"}),
    "run": ({"tool"}, {"results", "columnKind"}),
    "tool": ({"driver"}, set()),
    "driver": ({"name"}, {"version", "semanticVersion", "informationUri", "rules"}),
    "rule": (
        {"id"},
        {"name", "shortDescription", "fullDescription", "help", "defaultConfiguration", "properties"},
    ),
    "result": ({"message"}, {"ruleId", "ruleIndex", "level", "locations", "fixes"}),
    "text": ({"text"}, {"markdown"}),
    "location": (set(), {"physicalLocation", "logicalLocations"}),
    "physical": ({"artifactLocation"}, {"region"}),
    "artifact": ({"uri"}, {"uriBaseId"}),
    "region": ({"startLine", "startColumn", "endLine", "endColumn"}, set()),
    "fix": ({"artifactChanges"}, {"description"}),
    "change": ({"artifactLocation", "replacements"}, set()),
    "replacement": ({"deletedRegion"}, {"insertedContent"}),
}


def shaped(name, value):
    required, allowed = SHAPES[name]
    assert required <= value.keys() <= required | allowed, name
    return value


def check_region(region):
    assert all(isinstance(value, int) and value >= 1 for value in shaped("region", region).values())
    assert (region["startLine"], region["startColumn"]) <= (region["endLine"], region["endColumn"])


def check_artifact(location):
    assert re.fullmatch(r"[\w\-.~%/:]+", shaped("artifact", location)["uri"]), "a URI, with nothing to escape"


def check_sarif(log):
    """The shape of the standard, as far as premortem uses it."""
    assert shaped("log", log)["version"] == "2.1.0"
    (run,) = log["runs"]
    assert shaped("run", run)["columnKind"] == "unicodeCodePoints"
    driver = shaped("driver", shaped("tool", run["tool"])["driver"])
    for rule in driver["rules"]:
        for key in ("shortDescription", "fullDescription", "help"):
            shaped("text", shaped("rule", rule)[key])
        assert rule["defaultConfiguration"]["level"] in {"error", "warning", "note", "none"}
    for result in run["results"]:
        shaped("text", shaped("result", result)["message"])
        assert result["level"] in {"error", "warning", "note", "none"}
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        for location in result["locations"]:
            physical = shaped("physical", shaped("location", location)["physicalLocation"])
            check_artifact(physical["artifactLocation"])
            check_region(
                physical.get("region", {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1})
            )
        for fix in result.get("fixes", ()):
            shaped("text", shaped("fix", fix)["description"])
            for change in fix["artifactChanges"]:
                check_artifact(shaped("change", change)["artifactLocation"])
                for replacement in change["replacements"]:
                    check_region(shaped("replacement", replacement)["deletedRegion"])
    return run


def test_sarif_has_the_shape_of_the_standard():
    found = [
        report(fix=assigned()),
        report(severity=Severity.INFO, path=str(Path("odd name é,.py").absolute())),
        report(path="a.ipynb", cell=2, fix=assigned()),
        report(line=1, column=1, end_line=1, end_column=1, severity=Severity.WARNING),
    ]
    run = check_sarif(json.loads(renderer("sarif")(found, 1)))
    (rule,) = run["tool"]["driver"]["rules"]
    assert (rule["id"], rule["name"]) == ("PM501", "dropped-tensor-result")
    assert "## What to do" in rule["help"]["text"]
    assert [one["level"] for one in run["results"]] == ["error", "note", "error", "warning"]
    assert run["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].startswith(
        "file:///"
    )
    assert "fixes" not in run["results"][2], "the places of a notebook's fix are not places of its file"


def test_sarif_counts_columns_of_fixes_in_characters():
    code = '名 = "😀"; x.to(d)\n'
    Path("train.py").write_text(code, encoding="utf-8")
    found = report(line=1, end_line=1, column=10, end_column=17, fix=assigned(code))
    (result,) = json.loads(sarif.render([found], 1))["runs"][0]["results"]
    (replacement,) = result["fixes"][0]["artifactChanges"][0]["replacements"]
    assert replacement == {
        "deletedRegion": {"startLine": 1, "startColumn": 10, "endLine": 1, "endColumn": 10},
        "insertedContent": {"text": "x = "},
    }


def test_nothing_found_is_a_whole_log_too():
    assert check_sarif(json.loads(sarif.render([], 0)))["results"] == []


# --- statistics ------------------------------------------------------------------------------


def test_statistics_count_by_rule_the_most_frequent_first():
    found = [report(severity=Severity.INFO), report(fix=assigned()), report()]
    assert statistics.table(found, 9) == (
        "count  fixable  severity  code   name\n"
        "    2        1  error     PM501  dropped-tensor-result\n"
        "    1        0  info      PM501  dropped-tensor-result\n"
        "2 errors, 1 remark in 9 files; 1 can be fixed with `--fix`\n"
    )
    assert json.loads(statistics_renderer("json")(found, 9))[0] == {
        "count": 2,
        "fixable": 1,
        "severity": "error",
        "code": "PM501",
        "name": "dropped-tensor-result",
    }
    assert statistics_renderer("text")([], 3) == "nothing to report in 3 files\n"


# --- all of them -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_shows_every_report(name):
    shown = renderer(name)([report(), report(path="other.py")], 2)
    assert shown.count("`x.to()` returns a new tensor") == 2
    assert shown.endswith("\n")


def test_edits_apply_from_the_end():
    listing = Listing(b"a b c")
    assert edited(listing.data, (Edit(0, 1, "xx"), Edit(4, 5, ""), Edit(2, 3, "yyy"))) == b"xx yyy "


@pytest.mark.parametrize(
    ("switch", "coloured"), [({"NO_COLOR": "1"}, False), ({"TERM": "xterm-256color"}, True)]
)
def test_a_real_terminal_gets_frames_in_the_colours_it_knows(switch, coloured):
    Path("train.py").write_text("import torch\ndef f(x):\n    x.unsqueeze(0)\n    return x.shape\n")
    reader, writer = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "FORCE_COLOR"}}
    environment |= {"COLUMNS": "100", "PREMORTEM_CACHE_DIR": str(Path.cwd() / "cache"), **switch}
    command = [sys.executable, "-m", "premortem", "lint", "train.py"]
    with subprocess.Popen(command, stdout=writer, env=environment) as process:
        os.close(writer)
        said = b""
        while chunk := _read(reader):
            said += chunk
    os.close(reader)
    assert process.returncode == 1
    assert b"^^^^^^^^^^^^^^" in said
    assert bool(re.search(rb"\x1b\[1;31m", said)) is coloured


def _read(reader):
    try:
        return os.read(reader, 65536)
    except OSError:  # how Linux says that the other end of a terminal is closed
        return b""
