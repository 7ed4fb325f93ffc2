"""`[tool.premortem]`, `--select`, `--ignore` and comments: what is silenced, where, and what is said of it."""

import json
import sys

import pytest

from premortem import settings
from premortem.cli import main
from premortem.cli.verbs import VERBS
from premortem.errors import UsageError
from premortem.findings import Certainty, Finding, Severity, Where
from premortem.settings import Shared, Silence, shown
from premortem.settings.project import SETTABLE
from tests import starting

TRAIN = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(
    model.parameters(),
    lr=0.0,
)COMMENT
for _ in range(40):
    x = torch.randn(16, 4)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def finding(code="PM211", name="learning-rate-zero", family="lr", **where):
    return Finding(
        code=code,
        name=name,
        family=family,
        severity=Severity.ERROR,
        certainty=Certainty.MEASURED,
        step=3,
        message="rate 0",
        where=Where(**where),
    )


@pytest.mark.parametrize("word", ["PM211", "pm2", "learning-rate-zero", "lr", "ALL"])
def test_a_word_is_a_code_its_beginning_a_name_or_a_family(word):
    assert shown([Silence(Shared(ignore=(word,))).apply(finding())]) == []
    assert shown([Silence(Shared(select=(word,))).apply(finding())]) == [finding()]


def test_what_is_not_selected_is_silent():
    assert shown([Silence(Shared(select=("gan",))).apply(finding())]) == []


def test_a_file_can_be_left_out(tmp_path):
    asked = Shared(per_file_ignores={"old/*": ("lr",)}, root=str(tmp_path))
    old, new = (finding(file=str(tmp_path / name), line=1) for name in ("old/a.py", "new/a.py"))
    assert shown([Silence(asked).apply(old), Silence(asked).apply(new)]) == [new]


def test_a_severity_can_be_set():
    changed = Silence(Shared(severity={"lr": "info"})).apply(finding())
    assert changed.severity is Severity.INFO


@pytest.mark.parametrize(
    ("text", "silent"),
    [
        ("step(1)  # premortem: ignore[PM211]\n", True),
        ("step(1)  # premortem: ignore[learning-rate-zero]\n", True),
        ("step(1)  # premortem: ignore\n", True),
        ("step(1)  # premortem: ignore[PM131]\n", False),
        ("step('# premortem: ignore[PM211]')\n", False),
        ("step(\n    1,\n)  # premortem: ignore[PM211]\n", True),
        ("step(1)\nother()  # premortem: ignore[PM211]\n", False),
    ],
)
def test_a_comment_on_the_statement_silences_it(tmp_path, text, silent):
    file = tmp_path / "a.py"
    file.write_text(text)
    assert (shown([Silence().apply(finding(file=str(file), line=1))]) == []) is silent


def test_who_silences_later_hears_of_all(tmp_path):
    """A rehearsal or a trial reports everything; the verb silences, and counts."""
    file = tmp_path / "a.py"
    file.write_text("step(1)  # premortem: ignore[PM211]\n")
    found = finding(file=str(file), line=1)
    assert shown([Silence(Shared(comments=False)).apply(found)]) == [found]
    other = finding(file=str(file), line=2)
    assert Silence().without([found.to_json(), other.to_json()]) == ([other.to_json()], 1)


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("[tool.premortem]\nignor = []\n", "did you mean `ignore`?"),
        ("[tool.premortem]\nignore = 'PM1'\n", "a list of strings"),
        ("[tool.premortem]\nseverity = {lr = 'loud'}\n", "error, warning and info"),
        ("[tool.premortem]\nrun = 3\n", "[tool.premortem.run]"),
        ("[tool.premortem\n", "TOML"),
    ],
)
def test_a_wrong_table_is_a_wrong_call(tmp_path, table, complaint):
    (tmp_path / "pyproject.toml").write_text(table)
    with pytest.raises(UsageError) as error:
        settings.shared(tmp_path)
    assert complaint in str(error.value)
    assert "pyproject.toml" in str(error.value)


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("[tool.premortem.run]\npolcy = 'strict'\n", "did you mean `policy`?"),
        ("[tool.premortem.run]\nquiet = 'yes'\n", "true or false"),
        ("[tool.premortem.run]\nsink = 'wandb'\n", "a list of strings"),
        ("[tool.premortem.check]\nsteps = 'many'\n", "does not fit"),
        ("[tool.premortem.run]\nfindings = 'x.json'\n", "has no key `findings`"),
        ("[tool.premortem]\npolicy = 'observe'\n", "has no key `policy`; it belongs in [tool.premortem.run]"),
    ],
)
def test_a_wrong_default_is_a_wrong_call(tmp_path, table, complaint):
    (tmp_path / "pyproject.toml").write_text(table)
    verb = "run" if ".run]" in table else "check"
    with pytest.raises(UsageError) as error:
        settings.defaults(VERBS[verb].parser(), verb, tmp_path)
    assert complaint in str(error.value)


def test_the_command_line_goes_before_the_file(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.premortem.run]\npolicy = 'strict'\nsink = ['wandb']\n")
    made = settings.defaults(VERBS["run"].parser(), "run", tmp_path)
    assert made.parse([]).policy == "strict"
    assert made.parse([]).sink == ["wandb"]
    assert made.parse(["--policy", "observe"]).policy == "observe"


@pytest.mark.parametrize("verb", SETTABLE)
def test_everything_that_can_be_set_is_an_option(verb):
    assert {f"--{key}" for key in SETTABLE[verb]} <= set(VERBS[verb].parser().options)


def test_config_says_where_each_setting_comes_from(tmp_path, capsys):
    file = tmp_path / "pyproject.toml"
    file.write_text(
        "[project]\nname = 'x'\n[tool.premortem]\nignore = [\n  'gan',\n]\n[tool.premortem.fit]\ndevice = 'a100'\n"
    )
    assert main(["config", "--format", "json", str(tmp_path)]) == 0
    rows = {row["key"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["ignore"] == {"key": "ignore", "value": ["gan"], "origin": f"{file}:4"}
    assert rows["fit.device"]["origin"] == f"{file}:8"
    assert rows["run.policy"]["origin"] == "default"


def test_a_word_that_names_nothing_is_a_wrong_call(tmp_path, capsys):
    (tmp_path / "train.py").write_text("")
    assert main(["run", "--ignore", "PM999", str(tmp_path / "train.py")]) == 2
    assert "PM999" in capsys.readouterr().err


def run(folder, *options):
    command = [sys.executable, "-m", "premortem", "run", *options, "--findings", "f.json", "train.py"]
    done = starting.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in {0, 3}, done.stderr
    record = json.loads((folder / "f.json").read_text())
    return record, done


@pytest.mark.parametrize("way", ["comment", "file"])
def test_a_run_says_nothing_of_what_is_silenced_and_counts_it(tmp_path, way):
    (tmp_path / "train.py").write_text(
        TRAIN.replace("COMMENT", "  # premortem: ignore[PM211]" if way == "comment" else "")
    )
    if way == "file":
        (tmp_path / "pyproject.toml").write_text("[tool.premortem]\nignore = ['learning-rate-zero']\n")
    record, done = run(tmp_path, "--policy", "strict")
    assert record["findings"] == []
    assert record["run"]["silenced"] == 1
    assert record["run"]["reason"] == "finished"  # what is silenced does not stop a run
    assert "(1 silenced)" in done.stderr
    assert main(["report", "--format", "md", "-o", str(tmp_path / "r.md"), record["run"]["folder"]]) == 0
    assert "PM211" not in (tmp_path / "r.md").read_text()
    assert main(["report", "-o", str(tmp_path / "r.json"), record["run"]["folder"]]) == 0
    told = json.loads((tmp_path / "r.json").read_text())
    assert told["findings"] == []
    assert told["run"]["steps"] == 40
    assert told["curves"]["loss"]
