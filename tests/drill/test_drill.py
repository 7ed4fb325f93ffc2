"""Scripts that nobody wrote for this, with mistakes made in them at run time."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from premortem import changes, cli
from premortem.drill import director
from premortem.drill.director import DrillOptions, drill
from premortem.drill.scoring import Clean, Score
from premortem.errors import UsageError

MUTANTS = changes.of("harm")
TWINS = Path(__file__).parent.parent / "twins" / "fixed"
# It saves twice, loads what it saved, evaluates without anything that depends on the mode, and sets no seed.
SAVES = """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(256, 4)
y = x.sum(1, keepdim=True)
for epoch in range(3):
    model.train()
    for rows in torch.randperm(256).split(32):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(epoch, nn.functional.mse_loss(model(x), y).item())
    torch.save(model.state_dict(), "last.pt")
"""


def drilled(script, only, folder, monkeypatch, steps=0):
    monkeypatch.chdir(folder)
    chosen = [MUTANTS[name] for name in only]
    done = drill(DrillOptions(argv=[script], mutants=chosen, steps=steps, seconds=120.0, jobs=2))
    assert done.problem == "", done.tail
    assert done.clean.repeats
    assert done.clean.false_alarms == []
    assert done.clean.overhead is not None
    return done, {each.mutant: each for each in done.scores}


def test_an_ordinary_script(tmp_path, monkeypatch):
    shutil.copy(TWINS / "churn_tabular.py", tmp_path)
    source = (tmp_path / "churn_tabular.py").read_text()
    expected = {
        "zero-grad-dropped": "caught",
        "evaluated-in-train-mode": "caught",
        "scheduler-never": "does not apply here",
    }
    done, scores = drilled("churn_tabular.py", expected, tmp_path, monkeypatch, steps=60)
    assert {name: each.outcome for name, each in scores.items()} == expected
    assert all(each.right_family for each in done.caught)
    # The finding is about the script's own line, not about the mutant's.
    assert scores["zero-grad-dropped"].caught_by.step < 20
    assert ".backward()" in source.splitlines()[scores["zero-grad-dropped"].caught_by.line - 1]
    # Nothing was edited, nothing written.
    assert [path.name for path in tmp_path.iterdir()] == ["churn_tabular.py"]
    assert (tmp_path / "churn_tabular.py").read_text() == source


@pytest.mark.exhaustive
def test_what_is_on_the_disk(tmp_path, monkeypatch):
    (tmp_path / "saves.py").write_text(SAVES)
    expected = {
        "killed-while-saving": "caught",
        "torn-checkpoint": "caught",
        "eval-mode-leak": "changes nothing here",
    }
    done, scores = drilled("saves.py", expected, tmp_path, monkeypatch)
    assert {name: each.outcome for name, each in scores.items()} == expected
    assert not done.clean.alone.cut
    assert [path.name for path in tmp_path.iterdir()] == ["saves.py"]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("script", "steps", "known_misses"),
    [
        # A layer that is frozen from the start may be meant so. Dropout is no draw that is listened to.
        ("churn_tabular.py", 160, {"module-frozen", "rate-thousandfold", "reseeded-every-step"}),
        # Labels of a regression that come from no loader may be made on the spot.
        ("kiln_resume.py", 0, {"module-frozen", "labels-constant"}),
    ],
)
def test_all_mutants(script, steps, known_misses, tmp_path, monkeypatch):
    shutil.copy(TWINS / script, tmp_path)
    names = list(MUTANTS)
    done, scores = drilled(script, names, tmp_path, monkeypatch, steps)
    assert len(done.effective) >= 15
    assert {name for name, each in scores.items() if each.outcome == "missed"} <= known_misses


def test_a_script_that_does_not_train(tmp_path, monkeypatch):
    (tmp_path / "nothing.py").write_text("print('hello')\n")
    monkeypatch.chdir(tmp_path)
    done = drill(DrillOptions(argv=["nothing.py"], mutants=list(MUTANTS.values())))
    assert done.clean is None
    assert "made no training step" in done.problem
    assert "hello" in done.tail


def test_an_unknown_mutant_gets_a_hint():
    with pytest.raises(UsageError, match="did you mean `rate-zero`"):
        cli.VERBS["drill"].call(["--only", "rate-zer", "train.py"])


@pytest.mark.parametrize(("outcome", "code"), [("caught", 0), ("missed", 1), ("does not apply here", 0)])
def test_the_exit_code_and_the_record(outcome, code, tmp_path, monkeypatch, capsys):

    def drilled(options, done):
        done.clean = Clean(alone=director.Heard(), watched=director.Heard())
        done.scores.append(Score(mutant="rate-zero", outcome=outcome))
        options.scored(done.scores[0])

    monkeypatch.setattr(director, "drill", drilled)
    assert cli.main(["drill", "--json", str(tmp_path / "score.json"), sys.executable]) == code
    record = json.loads((tmp_path / "score.json").read_text())
    assert record["mutants"][0]["outcome"] == outcome
    assert record["mutants"][0]["expected"] == ["lr", "optimizer-ownership"]
    assert record["score"] == {"caught": 1.0, "missed": 0.0}.get(outcome)
    assert "rate-zero" in capsys.readouterr().out
