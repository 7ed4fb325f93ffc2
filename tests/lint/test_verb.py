"""`premortem lint` as it is called: options, settings, exit codes, and what bad input is told."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from premortem import cli
from premortem.files import untrusted

BAD = "import torch\n\n\ndef move(x: torch.Tensor, device):\n    x.to(device)\n    return x\n"
GOOD = BAD.replace("    x.to", "    x = x.to")


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREMORTEM_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "1"\n')
    (tmp_path / "train.py").write_text(BAD)
    return tmp_path


@pytest.fixture
def lint(capsys):
    def call(*words):
        code = cli.main(["lint", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def codes(out):
    return [one["code"] for one in json.loads(out)]


def test_a_report_and_exit_code_1(project, lint):
    code, out, _err = lint("train.py")
    assert code == 1
    assert out.startswith("train.py:5:5: error PM501 dropped-tensor-result: ")


def test_the_json_contract(project, lint):
    code, out, _err = lint("--format", "json", ".")
    (found,) = json.loads(out)
    wanted = {"path", "line", "column", "code", "name", "family", "severity", "message", "fixable"}
    assert wanted <= set(found)
    assert (code, found["code"], found["line"], found["column"]) == (1, "PM501", 5, 5)
    assert (found["severity"], found["fixable"], found["path"]) == ("error", True, "train.py")


def test_clean_is_exit_code_0(project, lint):
    (project / "train.py").write_text(GOOD)
    assert lint("--format", "json") == (0, "[]\n", "")


def test_the_findings_file(project, lint):
    lint("--findings", "found.json", "train.py")
    record = json.loads(Path("found.json").read_text())
    (found,) = record["findings"]
    assert set(record) == {"premortem", "run", "findings"}
    assert (found["code"], found["where"]["file"], found["where"]["line"]) == ("PM501", "train.py", 5)


def test_a_findings_file_that_cannot_be_written_is_one_sentence(project, lint):
    code, _out, err = lint("--findings", "nowhere/found.json", "train.py")
    assert (code, err) == (
        1,
        "premortem: the findings cannot be written to nowhere/found.json (No such file or directory)\n",
    )


def test_fix_mends_and_a_second_time_changes_nothing(project, lint):
    assert lint("--fix", "train.py")[::2] == (1, "")  # what follows may be written for the tensor as it was
    assert (project / "train.py").read_text() == BAD
    code, _out, err = lint("--unsafe-fixes", "train.py")
    assert (code, err) == (0, "premortem: 1 fixed\n")
    assert (project / "train.py").read_text() == GOOD
    assert lint("--unsafe-fixes", "train.py")[::2] == (0, "")
    assert (project / "train.py").read_text() == GOOD


def test_what_a_cache_says_is_never_written_into_a_file(project, lint):
    """A cache may have come with the project, with any edit in it."""
    from premortem.lint.cache import hash_of

    assert lint("train.py")[0] == 1
    (file,) = project.glob("cache/*/*.sealed")
    data = file.read_bytes().partition(b"\n")[2]
    forged = data.replace(b'"x = "', b'"import os; x = "')
    assert forged != data
    file.write_bytes(hash_of(forged).encode() + b"\n" + forged)
    _code, out, _err = lint("--diff", "--unsafe-fixes", "train.py")
    assert "x = x.to(device)" in out
    assert "import os" not in out
    assert lint("--unsafe-fixes", "train.py")[0] == 0
    assert (project / "train.py").read_text() == GOOD


def test_a_safe_fix_needs_no_more_than_fix(project, lint):
    (project / "train.py").write_text("import torch\n\nw = torch.ones(3)\nw.require_grad = True\n")
    assert lint("--fix", "train.py")[::2] == (0, "premortem: 1 fixed\n")
    assert (project / "train.py").read_text().endswith("w.requires_grad = True\n")


def test_diff_shows_and_changes_nothing(project, lint):
    assert lint("--diff", "train.py")[:2] == (0, "")
    code, out, _err = lint("--diff", "--unsafe-fixes", "train.py")
    assert code == 1
    assert "-    x.to(device)\n+    x = x.to(device)\n" in out
    assert (project / "train.py").read_text() == BAD
    (project / "train.py").write_text(GOOD)
    assert lint("--diff", "--unsafe-fixes", "train.py") == (0, "", "")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--ignore", "PM501"], []),
        (["--ignore", "PM56,dropped-tensor-result"], []),
        (["--ignore", "PM5"], []),
        (["--select", "PM501"], ["PM501"]),
        (["--select", "environment"], ["PM501"]),
        (["--select", "ALL", "--ignore", "ALL"], []),
        (["--select", "lr"], []),
    ],
)
def test_rules_are_chosen(project, lint, words, found):
    _code, out, _err = lint("--format", "json", "train.py", *words)
    assert codes(out) == found


@pytest.mark.parametrize(
    ("comment", "silent"),
    [
        ("# premortem: ignore[PM501]", True),
        ("#premortem:ignore[pm501]", True),
        ("# premortem: ignore[dropped-tensor-result]", True),
        ("# premortem: ignore[PM560, PM501] later", True),
        ("# premortem: ignore", True),
        ("# noqa  # premortem: ignore[PM501]", True),
        ("# premortem: ignore[PM502]", False),
        ("# ignore[PM501]", False),
    ],
)
def test_comments_silence_their_line(project, lint, comment, silent):
    (project / "train.py").write_text(BAD.replace("x.to(device)", f"x.to(device)  {comment}"))
    _code, out, _err = lint("--format", "json", "train.py")
    assert codes(out) == ([] if silent else ["PM501"])


@pytest.mark.parametrize("by", ["a comment", "the settings of its file"])
def test_what_is_silenced_is_counted(project, lint, by):
    comment = "  # premortem: ignore[PM501]" if by == "a comment" else ""
    (project / "train.py").write_text(BAD.replace("x.to(device)", f"x.to(device){comment}"))
    words = [] if comment else ["--per-file-ignores", "train.py:PM501"]
    for _again in range(2):  # the second answer comes from the cache
        _code, out, _err = lint("train.py", "--findings", "f.json", *words)
        assert out == "nothing to report in 1 file (1 silenced)\n"
        assert json.loads((project / "f.json").read_text())["run"]["silenced"] == 1


@pytest.mark.parametrize(
    ("words", "unknown"),
    [
        ("PM999", ["PM999"]),
        ("PM501, PM999", ["PM999"]),
        ("PM50", ["PM50"]),
        ("dropped-tensor-resul", ["dropped-tensor-resul"]),
        ("PM501 on purpose", []),
        ("PM548", []),
        ("*", []),
    ],
)
def test_suppressing_an_unknown_code_is_said(project, lint, words, unknown):
    (project / "train.py").write_text(GOOD + f"print(1)  # premortem: ignore[{words}]\n")
    code, out, _err = lint("--format", "json", "train.py")
    found = [(one["code"], one["severity"], one["line"], one["column"]) for one in json.loads(out)]
    assert found == [("PM591", "info", GOOD.count("\n") + 1, 11)] * len(unknown)
    assert all(f"`{word}`" in out for word in unknown)
    assert code == 0


def test_suppressing_an_unknown_name_has_a_hint_and_can_be_silenced(project, lint):
    (project / "c.yaml").write_text("lr: 0.1  # premortem: ignore[dropped-tensor-resul]\n")
    _code, out, _err = lint("--format", "json", "c.yaml")
    assert [one["remedy"] for one in json.loads(out)] == ["Did you mean `dropped-tensor-result`?"]
    assert codes(lint("--format", "json", "--ignore", "PM591", "c.yaml")[1]) == []


@pytest.mark.parametrize("version", ["9.9", "1.8"])
def test_a_torch_that_is_not_known_is_a_wrong_call(project, lint, version):
    code, out, err = lint("--torch", version, "train.py")
    assert (code, out) == (2, "")
    assert f"torch {version} is not known" in err
    assert err.count("\n") == 1


def test_a_comment_alone_silences_the_next_line_and_ignore_file_all(project, lint):
    for comment in ("    # premortem: ignore[PM501]\n", "    # premortem: ignore-file[PM501]\n\n"):
        (project / "train.py").write_text(BAD.replace("    x.to", f"{comment}    x.to"))
        assert codes(lint("--format", "json", "train.py")[1]) == []


def test_words_in_a_string_silence_nothing(project, lint):
    (project / "train.py").write_text(BAD.replace("device)\n    r", "'# premortem: ignore')\n    r"))
    assert codes(lint("--format", "json", "train.py")[1]) == ["PM501"]


def settings(project, text):
    (project / "pyproject.toml").write_text(f"[tool.premortem.lint]\n{text}\n")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('ignore = ["PM501"]', []),
        ('select = ["PM501"]', ["PM501"]),
        ('select = ["PM590"]', []),
        ('exclude = ["train.py"]', []),
        ('exclude = ["tr*.py"]', []),
        ('exclude = ["other"]', ["PM501"]),
        ('per-file-ignores = {"train.py" = ["PM501"]}', []),
        ('per-file-ignores = {"tests/*" = ["PM501"]}', ["PM501"]),
        ("preview = true", ["PM501"]),
    ],
)
def test_settings_of_the_project(project, lint, text, found):
    settings(project, text)
    _code, out, _err = lint("--format", "json", ".")
    assert codes(out) == found


def test_patterns_start_at_the_folder_of_the_settings(project, lint):
    settings(project, 'exclude = ["inner/old/*"]')
    old = project / "inner" / "old"
    old.mkdir(parents=True)
    (project / "inner" / "setup.py").write_text("")
    (old / "train.py").write_text(BAD)
    assert codes(lint("--format", "json", "inner")[1]) == []


def test_an_excluded_file_that_is_named_is_read(project, lint):
    settings(project, 'exclude = ["train.py"]')
    assert codes(lint("--format", "json", "train.py")[1]) == ["PM501"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('slect = ["PM501"]', "[tool.premortem.lint] has no key `slect`; did you mean `select`?"),
        (
            "zzz = 1",
            "[tool.premortem.lint] has no key `zzz`; there are select, ignore, preview, torch, exclude, per-file-ignores",
        ),
        (
            'select = "PM501"',
            '`select` in [tool.premortem.lint] must be a list of strings, such as ["PM501"]',
        ),
        ("preview = 1", "`preview` in [tool.premortem.lint] must be true or false"),
        (
            "torch = 2.10",
            '`torch` in [tool.premortem.lint] must be a version in quotes, such as "2.4"',
        ),
        ("select = [", "cannot be read as TOML"),
    ],
)
def test_wrong_settings_get_a_hint(project, lint, text, sentence):
    settings(project, text)
    code, out, err = lint(".")
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.startswith("premortem: ")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["nowhere.py"], ["`nowhere.py`"]),
        (["--select", "XY", "."], ["`XY`", "`premortem explain --all`"]),
        (["--ignore", "droped-tensor-result", "."], ["`droped-tensor-result`", "`dropped-tensor-result`?"]),
        (["--format", "xml", "."], ["`--format xml`", "text, json, sarif, github"]),
        (["--fixx", "."], ["`--fixx`", "`--fix`?"]),
        (["notes.txt"], ["`notes.txt`", "YAML, TOML, JSON"]),
        (["loose"], ["`loose`", "link"]),
    ],
)
def test_wrong_calls_are_one_sentence_and_exit_code_2(project, lint, words, names):
    (project / "notes.txt").write_text("buy milk\n")
    (project / "loose").symlink_to("gone")
    code, out, err = lint(*words)
    assert (code, out) == (2, "")
    assert err.startswith("premortem: ")
    assert err.count("\n") == 1
    assert all(name in err for name in names)


def only(out):
    (found,) = json.loads(out)
    return found["code"], found["line"], found["message"]


@pytest.mark.parametrize(
    ("name", "data", "code", "sentence"),
    [
        ("old.py", b"x = 1\nprint 'hello'\n", 0, "this file looks like Python 2"),
        ("half.py", b"def f(:\n", 1, "line 1 of this file is not valid Python"),
        ("note.py", b'"""C:\\Users\\me"""\n', 1, "line 1 of this file is not valid Python"),
        ("picture.py", b"\x89PNG\r\n\x1a\n\0\0\0", 1, "this file is binary or damaged"),
        ("data.py", b"x = '" + b"y" * 5_000_000 + b"'\n", 1, "this file has 5.0 MB of code"),
        ("broken.ipynb", b"{", 1, "this is not a notebook"),
        ("list.ipynb", b"[]", 1, "this is not a notebook"),
    ],
)
def test_bad_files_are_one_diagnostic(project, lint, name, data, code, sentence):
    (project / name).write_bytes(data)
    got, out, err = lint("--format", "json", name)
    assert (got, err) == (code, "")
    assert only(out)[0] == "PM590"
    assert only(out)[2].startswith(sentence)


@pytest.mark.parametrize("data", [b"", b"\n", b"\xef\xbb\xbf", b"# nothing\n"])
def test_an_empty_file_is_clean(project, lint, data):
    (project / "empty.py").write_bytes(data)
    assert lint("--format", "json", "empty.py") == (0, "[]\n", "")


def test_a_file_that_cannot_be_opened_does_not_stop_the_others(project, lint, monkeypatch):
    (project / "secret.py").write_text("x = 1\n")
    plain = untrusted.read

    def read(path, *limit):
        if Path(path).name == "secret.py":
            raise PermissionError(13, "Permission denied")
        return plain(path, *limit)

    monkeypatch.setattr(untrusted, "read", read)
    found = {one["path"]: one["message"] for one in json.loads(lint("--format", "json", ".")[1])}
    assert found["secret.py"] == "this file cannot be opened (Permission denied)"
    assert "train.py" in found


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("d.yaml", "name: x\ndrivers: [a\nother: b\n", 3),  # no rule has a word to look for in it
        ("e.toml", "name = 'x'\nother = = 1\n", 2),
        ("f.json", '{"name": "x",\n "other": 1}}\n', 2),
    ],
)
def test_a_config_that_cannot_be_read_is_a_warning_in_a_folder_and_by_its_name(
    project, lint, name, text, line
):
    (project / "settings").mkdir()
    (project / "settings" / name).write_text(text)
    code, out, _err = lint("--format", "json", "settings")
    (found,) = json.loads(out)
    assert (code, found["code"], found["severity"], found["line"]) == (1, "PM590", "warning", line)
    code, out, _err = lint("--format", "json", f"settings/{name}")
    (found,) = json.loads(out)
    assert (code, found["code"], found["severity"], found["line"]) == (1, "PM590", "warning", line)


def test_a_config_that_cannot_be_read_and_that_a_rule_asks_for_is_a_warning(project, lint):
    (project / "c.yaml").write_text("fp16: true\nbf16: [true\nlr: 1e-4\n")
    code, out, _err = lint("--format", "json", "--preview", "c.yaml")
    (found,) = json.loads(out)
    assert (code, found["code"], found["severity"]) == (1, "PM590", "warning")


@pytest.mark.parametrize(
    "text",
    ['{"a": 1,, }', '{"a" 1}', '{"a": }', "[1 2]", '{"a": "x // y"', '{"a": 1}\n{"b" 2}\n'],
)
def test_json_with_a_mistake_is_a_warning(project, lint, text):
    (project / "conf").mkdir()
    (project / "conf" / "c.json").write_text(text)
    code, out, _err = lint("--format", "json", "conf")
    (found,) = json.loads(out)
    assert (code, found["code"], found["severity"]) == (1, "PM590", "warning")


@pytest.mark.parametrize(
    "text",
    [
        '{\n // why\n "a": "x // y", /* b */ "c": [1, 2,],\n}',
        '{"a": 1}\n{"b": 2}\n',
        "# a comment\n[1]",
        '{"a": NaN}',
    ],
)
def test_json_as_people_write_it_is_no_mistake(project, lint, text):
    (project / "conf").mkdir()
    (project / "conf" / "c.json").write_text(text)
    assert lint("--strict-files", "conf") == (0, "nothing to report in 1 file\n", "")


def test_rules_of_one_pattern_are_separated_by_commas(project, lint):
    assert (
        lint("--per-file-ignores", "train.py:PM543,PM501,PM533", "--format", "json", "train.py")[1].strip()
        == "[]"
    )
    assert lint("--per-file-ignores", "PM543", "train.py")[0] == 2


def test_a_config_that_no_rule_asks_for_is_read_where_files_are_strict(project, lint):
    (project / "conf").mkdir()
    (project / "conf" / "c.yaml").write_text("names: [a, b\n")
    (project / "conf" / "picture.json").write_bytes(b"\x89PNG\x00\xff")
    (project / "conf" / "tsconfig.json").write_text('{\n  // strict\n  "strict": true,\n}\n')
    code, out, _err = lint("--strict-files", "--format", "json", "conf")
    found = {Path(one["path"]).name: one["severity"] for one in json.loads(out)}
    assert (code, found) == (1, {"c.yaml": "warning", "picture.json": "warning"})


def test_a_file_for_another_python_does_not_pass_where_files_are_strict(project, lint):
    (project / "old.py").write_text("print 'hello'\n")
    assert lint("old.py")[0] == 0
    assert lint("--strict-files", "old.py")[0] == 1


def test_a_pipe_with_the_name_of_a_file_is_passed_over(project, lint):
    (project / "inner").mkdir()
    os.mkfifo(project / "inner" / "pipe.py")
    (project / "inner" / "endless.py").symlink_to("/dev/zero")
    (project / "inner" / "fine.py").write_text("x = 1\n")
    assert lint("inner") == (0, "nothing to report in 1 file\n", "")
    assert lint("inner/pipe.py", "inner/fine.py")[0] == 0


def test_a_pipe_that_is_named_itself(project, lint):
    os.mkfifo(project / "pipe.py")
    code, _out, err = lint("pipe.py")
    assert code == 2
    assert "`pipe.py` is a pipe or a device, not a file" in err


def test_noqa_with_a_code_that_no_rule_has(project, lint):
    (project / "a.py").write_text("import torch  # noqa: E501, PM998\n")
    _code, out, _err = lint("a.py")
    assert "no lint rule is called `PM998`: this comment does not silence it" in out


def test_noqa_with_a_code_of_ours(project, lint):
    line = "import torch\n\n\ndef f(x: torch.Tensor):\n    x.to(0)"
    (project / "a.py").write_text(f"{line}  # noqa: E501, PM501\n    return x\n")
    (project / "b.py").write_text(f"{line}  # noqa: E501\n    return x\n")
    assert lint("a.py")[0] == 0
    assert lint("b.py")[0] == 1


def test_per_file_ignores_as_in_ruff(project, lint):
    text = "import torch\n\n\ndef f(x: torch.Tensor):\n    x.to(0)\n    return x\n"
    (project / "old.py").write_text(text)
    (project / "new.py").write_text(text)
    for option in ("old.py:PM501", "!new.py:PM5"):
        _code, out, _err = lint("--format", "json", "--per-file-ignores", option, "old.py", "new.py")
        assert [one["path"] for one in json.loads(out)] == ["new.py"]
    assert "write PATTERN:RULE" in lint("--per-file-ignores", "PM501", ".")[2]


def test_a_folder_without_python(project, lint):
    (project / "empty").mkdir()
    code, _out, err = lint("empty")
    assert (code, err) == (0, "premortem: there is no Python file, notebook or config under empty\n")


def test_links_that_go_in_circles(project, lint):
    (project / "loop").symlink_to(".")
    (project / "self.py").symlink_to("self.py")
    code, out, _err = lint("--format", "json", ".")
    found = json.loads(out)
    assert code == 1
    assert [one["code"] for one in found if one["path"] == "train.py"] == ["PM501"]
    assert not any(one["path"].startswith("loop") for one in found)


def test_a_script_without_suffix_is_read_when_it_says_python(project, lint):
    (project / "fit").write_text("#!/usr/bin/env python\n" + BAD)
    assert only(lint("--format", "json", "fit")[1])[:2] == ("PM501", 6)


def test_one_file_named_twice_is_read_once(project, lint):
    assert codes(lint("--format", "json", ".", "train.py", "./train.py")[1]) == ["PM501"]


def test_notebooks_name_cell_and_line(project, lint):
    cells = [
        {"cell_type": "markdown", "source": "# Title"},
        {"cell_type": "code", "source": ["%pip install torch\n", "import torch\n", "!ls\n"]},
        {"cell_type": "code", "source": BAD.partition("\n\n\n")[2]},
        {"cell_type": "code", "source": "def f(:\n"},
        {"cell_type": "code", "source": "%%bash\nls | grep x\n"},
    ]
    (project / "n.ipynb").write_text(json.dumps({"cells": cells}))
    found = json.loads(lint("--format", "json", "n.ipynb")[1])
    assert [(one["code"], one["cell"], one["line"]) for one in found] == [("PM501", 3, 2), ("PM590", 4, 1)]


def test_a_rule_that_breaks_is_a_note_and_the_others_go_on(project, lint, monkeypatch):
    from premortem.lint import engine
    from premortem.lint.rules.dropped_tensor_result import DroppedTensorResult

    class Broken(DroppedTensorResult):
        def check(self, source, project):
            yield from super().check(source, project)
            raise KeyError("lost")

    monkeypatch.setattr(engine, "all_rules", lambda: (Broken(),))
    exit_code, out, _err = lint("--format", "json", "--no-cache", "train.py")
    code, _line, message = only(out)
    assert (exit_code, code) == (0, "PM599")
    assert message.startswith(
        "the rule PM501 dropped-tensor-result failed on this file, in its own code (test_verb.py:"
    )


def test_torch_and_rich_are_not_loaded_for_a_pipe(project):
    program = (
        "import sys; sys.modules['torch'] = None; from premortem.cli import main; "
        "code = main(['lint', 'train.py']); sys.exit(code + 10 * ('rich' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_closed_pipe_is_no_traceback(project):
    command = f"{sys.executable} -m premortem lint --format json . | head -c 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_names_that_are_no_text_are_shown_all_the_same(project):
    name = os.fsdecode(b"tr\xff.py")
    (project / name).write_text(BAD)
    for words in (["--format", "json"], ["--findings", "found.json"], []):
        done = subprocess.run(
            [sys.executable, "-m", "premortem", "lint", *words, name], capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (1, b"")
        assert b"PM501" in done.stdout


def test_a_terminal_that_knows_only_ascii(project):
    (project / "zug.py").write_text(BAD.replace("x", "größe"))
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "premortem", "lint", "zug.py"],
        capture_output=True,
        check=False,
        env=environment,
    )
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"gr\\xf6\\xdfe.to()" in done.stdout
