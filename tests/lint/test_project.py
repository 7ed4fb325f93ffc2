"""All files of a run: cache, processes, facts of the whole project, and the second pass."""

import json
import os
from pathlib import Path

import pytest

from premortem.cards import Card
from premortem.findings import Severity
from premortem.lint import cache, engine, project, summaries, workers
from premortem.lint.project import Plan
from premortem.lint.project_facts import Facts, NotYet
from premortem.lint.rule import Rule
from premortem.lint.settings import Settings
from premortem.lint.target import Targets
from premortem.terminal.progress import Progress
from tests.lint.reading import source

READ = []  # paths of the files that the rule below was shown, in this process


class AsksTheProject(Rule):
    """Reports `half_loss` where some file of the project uses fp16."""

    card = Card(code="PM598", name="asks-the-project", family="config", severity=Severity.ERROR)
    triggers = (b"half_loss",)

    def check(self, source, project):
        READ.append(Path(source.path).name)
        for call in source.calls_to("half_loss"):
            if project.fp16:
                yield self.report(source, call, "half")


@pytest.fixture(autouse=True)
def one_rule(monkeypatch):
    READ.clear()
    monkeypatch.setattr(engine, "all_rules", lambda: (AsksTheProject(),))


@pytest.fixture
def files(tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "loss.py").write_text("def f(x):\n    return half_loss(x)\n")
    (tmp_path / "model.py").write_text("import torch\nmodel = build().half()\n")
    return tmp_path


def check(root, *names, whole=True, folder=None, **settings):
    plan = Plan(root, Settings(**settings), None, ("PM598",), whole)
    paths = [str(root / name) for name in names or sorted(p.name for p in root.glob("*.py"))]
    outcome = project.check(paths, plan, folder, Progress())
    return [(Path(one.path).name, one.line, one.card.code) for one in outcome.diagnostics]


def test_a_rule_that_asks_is_run_again_when_the_facts_are_known(files):
    assert check(files) == [("loss.py", 2, "PM598")]
    assert READ == ["loss.py", "loss.py"]


def test_only_files_with_a_suspicion_are_read_twice(files):
    (files / "calm.py").write_text("# half_loss is not called\n")
    check(files)
    assert sorted(READ) == ["calm.py", "loss.py", "loss.py"]


def test_facts_come_from_the_files_around_a_named_one(files):
    assert check(files, "loss.py", whole=False) == [("loss.py", 2, "PM598")]
    assert check(files, "loss.py", whole=False, exclude=("model.py",)) == []


def test_facts_before_the_first_pass_are_not_yet_known():
    with pytest.raises(NotYet):
        _ = Facts(Path()).fp16


def test_what_has_not_changed_is_not_read_again(files, tmp_path):
    folder = tmp_path / "cache"
    first = check(files, folder=folder)
    READ.clear()
    assert check(files, folder=folder) == first
    assert READ == []


def test_a_file_that_was_only_touched_is_known_by_its_content(files, tmp_path):
    folder = tmp_path / "cache"
    first = check(files, folder=folder)
    READ.clear()
    os.utime(files / "loss.py", (1, 1))
    assert check(files, folder=folder) == first
    assert READ == []


def test_a_changed_file_is_read_again(files, tmp_path):
    folder = tmp_path / "cache"
    check(files, folder=folder)
    (files / "loss.py").write_text("\n\ndef f(x):\n    return half_loss(x)\n")
    assert check(files, folder=folder) == [("loss.py", 4, "PM598")]


def test_changed_facts_are_asked_again_in_files_that_did_not_change(files, tmp_path):
    folder = tmp_path / "cache"
    assert check(files, folder=folder) == [("loss.py", 2, "PM598")]
    model = (files / "model.py").read_text()
    (files / "model.py").write_text("import torch\n")
    assert check(files, folder=folder) == []
    READ.clear()
    (files / "model.py").write_text(model)
    assert check(files, folder=folder) == [("loss.py", 2, "PM598")]
    assert READ == []  # the answer for these facts is still known


def test_settings_and_rules_have_their_own_answers(files):
    rule = AsksTheProject()
    keys = {
        cache.key([rule], Settings()),
        cache.key([rule], Settings(torch="2.5")),
        cache.key([rule], Settings(ignore=("PM1",))),
        cache.key([], Settings()),
    }
    assert len(keys) == 4


def test_a_changed_target_is_asked_again_in_files_that_did_not_change(files, tmp_path):
    def run():
        READ.clear()
        plan = Plan(files, Settings(), Targets(files), ("PM598",))
        paths = [str(files / name) for name in ("loss.py", "below/loss.py")]
        project.check(paths, plan, tmp_path / "cache", Progress())
        return len(READ)

    (files / "below").mkdir()
    (files / "below" / "loss.py").write_text("half_loss(1)\n")
    assert run() == 4
    assert run() == 0
    (files / "below" / "requirements.txt").write_text("torch==2.1.0\n")
    assert run() == 2  # the file below, once in each pass; the other one runs with what it ran with
    assert run() == 0


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\n{}", b"\xff\xfe\n{}"])
def test_a_damaged_cache_is_as_good_as_none(files, tmp_path, damage):
    folder = tmp_path / "cache"
    first = check(files, folder=folder)
    for file in folder.glob("*.json"):
        file.write_bytes(damage)
    assert check(files, folder=folder) == first


def test_an_altered_cache_is_not_believed(files, tmp_path):
    folder = tmp_path / "cache"
    first = check(files, folder=folder)
    for file in folder.glob("*.json"):
        file.write_bytes(file.read_bytes().replace(b"PM598", b"PM000"))
    assert check(files, folder=folder) == first


def test_a_cache_that_cannot_be_written_is_no_trouble(files, tmp_path):
    (tmp_path / "cache").write_text("a file where a folder should be")
    assert check(files, folder=tmp_path / "cache") == [("loss.py", 2, "PM598")]


def test_old_caches_are_removed(files, tmp_path):
    folder = tmp_path / "cache"
    for number in range(cache.KEPT + 3):
        check(files, folder=folder, ignore=(f"PM{number}",))
    assert len([*folder.glob("*.sealed")]) == cache.KEPT


def test_where_the_cache_is_kept(tmp_path, monkeypatch):
    monkeypatch.delenv("PREMORTEM_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder_for(tmp_path).parent == tmp_path / "xdg" / "premortem" / "lint"
    (tmp_path / ".premortem").mkdir()
    assert cache.folder_for(tmp_path) == tmp_path / ".premortem" / "lint-cache"


def test_many_files_are_shared_out_and_give_the_same(files, monkeypatch):
    for number in range(12):
        (files / f"part{number}.py").write_text(f"import torch\n{'x = 1' * (number % 2)}\nhalf_loss(x)\n")
    alone = check(files)
    monkeypatch.setattr(workers, "MANY", 5)
    monkeypatch.setattr(workers, "_cores", lambda: 2)
    assert check(files) == alone
    assert len(alone) == 13


class Told(Progress):
    def __init__(self):
        super().__init__()
        self.total, self.done = 0, 0

    def count(self, total, unit=""):
        self.total += total

    def advance(self, pieces=1):
        self.done += pieces


def test_progress_is_told_of_every_file(files):
    told = Told()
    plan = Plan(files, Settings(), None, ("PM598",))
    project.check([str(path) for path in files.glob("*.py")], plan, None, told)
    assert (told.total, told.done) == (3, 3)  # one of the two files twice


@pytest.mark.parametrize(
    ("program", "fact"),
    [
        ("import torch\nm.half()\n", "fp16"),
        ("from torch.cuda.amp import autocast\nwith autocast():\n    pass\n", "fp16"),
        ("import torch\nwith torch.autocast('cuda', dtype=torch.float16):\n    pass\n", "fp16"),
        ("import torch\nscaler = torch.amp.GradScaler('cuda')\n", "fp16"),
        ("import torch\nm = torch.compile(m)\n", "compile"),
        ("import torch\n@torch.compile\ndef f(): ...\n", "compile"),
    ],
)
def test_facts(program, fact):
    summary = summaries.summarise(source(program))
    assert Facts(Path(), None, [summary]).runs_with("train.py", fact)
    assert not Facts(Path(), None, [summaries.summarise(source("import torch\n"))]).runs_with(
        "train.py", fact
    )


def test_bfloat16_is_not_fp16():
    program = "import torch\nwith torch.autocast('cuda', dtype=torch.bfloat16):\n    pass\nm.bfloat16()\n"
    assert not Facts(Path(), None, [summaries.summarise(source(program))]).fp16


TRAINING = """
import torch
import yaml

def optimize(loss, optimizer):
    clear(optimizer)
    loss.backward()

def clear(optimizer):
    optimizer.zero_grad()

@torch.no_grad()
def validate(model):
    model.eval()
    return score(model)

with torch.inference_mode():
    predict(yaml.safe_load(f))
"""


def test_functions_of_the_project():
    facts = Facts(Path(), None, [summaries.summarise(source(TRAINING))])
    assert facts.does("optimize", "backward")
    assert facts.does("optimize", "zero_grad")
    assert not facts.does("clear", "backward")
    assert facts.called_without_grad("score")
    assert facts.called_without_grad("predict")
    assert not facts.called_without_grad("optimize")
    assert facts.called_in_eval("score")
    assert facts.yaml_loaders == {"pyyaml"}


def test_calls_are_followed_from_file_to_file():
    one = summaries.summarise(source("import torch\ndef fit(o):\n    o.step()\n    tidy(o)\n"))
    other = summaries.summarise(source("import torch\ndef tidy(o):\n    o.zero_grad()\n"))
    assert Facts(Path(), None, [one, other]).does("fit", "zero_grad")
    assert not Facts(Path(), None, [one]).does("fit", "zero_grad")


def test_a_module_of_the_very_name_is_what_an_import_means(tmp_path):
    """`from loss import critic` means `loss/critic.py`, not a class of the same name in `loss/critic_of_others.py`."""
    (tmp_path / "loss").mkdir()
    other = tmp_path / "loss" / "critic_of_others.py"
    mark = f"output:{other.as_posix()}>Critic>sigmoid"
    facts = Facts(tmp_path, None, [summaries.Summary(marks={mark})])
    train = str(tmp_path / "train.py")
    assert facts.output_of("loss.critic.Critic", train) == "sigmoid"
    (tmp_path / "loss" / "critic.py").write_text("")
    assert facts.output_of("loss.critic.Critic", train) == ""
    assert facts.output_of("loss.critic_of_others.Critic", train) == "sigmoid"


def test_who_calls_in_evaluation_elsewhere():
    here, there = (summaries.Summary(in_eval={f"score @ /repo/{name}.py"}) for name in ("train", "other"))
    assert Facts(Path(), None, [here], "/repo/train.py").called_in_eval("score")
    assert not Facts(Path(), None, [here], "/repo/train.py").called_in_eval("score", elsewhere=True)
    assert Facts(Path(), None, [there], None).called_in_eval("score", elsewhere=True)


def test_an_unknown_verb_is_a_mistake_of_the_rule():
    with pytest.raises(ValueError, match=r"add 'fly' to summaries\.VERBS"):
        Facts(Path(), None, []).does("f", "fly")


def test_a_summary_survives_the_cache():
    summary = summaries.summarise(source(TRAINING))
    assert summaries.from_json(json.loads(json.dumps(summaries.as_json(summary)))) == summary
