"""Real scripts in real processes."""

import json
import textwrap
from pathlib import Path

import pytest

from premortem.preflight.project import Project
from premortem.preflight.rehearsal import survey

CASES = Path(__file__).parents[3] / "bench" / "check"

LOOP = """
import argparse, time
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __init__(self, n): self.n = n
    def __len__(self): return self.n
    def __getitem__(self, i):
        time.sleep(0.001)
        open(f"samples/{i % 7}.csv").close()
        g = torch.Generator().manual_seed(i)
        x = torch.randn(6, generator=g)
        return x, x.sum(0, keepdim=True)

parser = argparse.ArgumentParser()
parser.add_argument("--name", required=True)
args = parser.parse_args()
torch.manual_seed(0)
train, val = DataLoader(Slow(20000), 10, shuffle=True), DataLoader(Slow(9000), 10)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
open("log.txt", "a").write("started\\n")
for epoch in range(3):
    net.train()
    for x, y in train:
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        total = sum(nn.functional.mse_loss(net(x), y).item() for x, y in val)
    print("val", total / len(val))
    torch.save({"net": net.state_dict()}, f"epoch_{epoch}.pt")
"""


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def rehearse(folder, script="train.py", argv=(), **more):
    told = []
    return survey(Project(folder=folder, target=script, argv=list(argv), seconds=120, **more), told.append)


def script(folder, text):
    (folder / "train.py").write_text(textwrap.dedent(text))
    return folder


def loud(part):
    return [f for f in part.findings if f.severity.value != "info"]


def test_a_long_epoch_is_cut_and_nothing_of_the_users_is_written(tmp_path):
    script(tmp_path, LOOP)
    (tmp_path / "samples").mkdir()
    for number in range(7):
        (tmp_path / "samples" / f"{number}.csv").touch()
    part = rehearse(tmp_path, argv=["--name", "x"])
    facts = part.record["facts"]
    assert facts["cut"]
    assert facts["evaluations"] >= 1
    assert [Path(save["path"]).name for save in facts["saved"]][:1] == ["epoch_0.pt"]
    assert facts["saved"][0]["numbered"]
    assert facts["epochs"] == 3
    assert [(c["group"], c["parameters"], c["moved"], c["evaluated"]) for c in facts["chains"]] == [
        ("Adam", 4, 4, 4)
    ]
    assert facts["overfit"]["best"] < facts["overfit"]["first"]
    assert facts["twice"]["same"]
    assert part.record["eta_seconds"] > 30  # 2900 batches of more than 10 ms, three times
    assert part.record["checkpoint_count"] == 3
    assert facts["opened"][str(tmp_path / "samples")] == 7
    sample = str(tmp_path / "samples" / "0.csv")
    assert facts["reads"] == {"dataset": "Slow", "length": 20000, "sample": [sample]}
    assert loud(part) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["samples", "train.py"]
    json.dumps(part.record)


def test_a_script_that_needs_arguments_says_so_in_one_sentence(tmp_path):
    part = rehearse(script(tmp_path, LOOP))
    (finding,) = part.findings
    assert finding.name == "script-asks-for-arguments"
    assert finding.message.endswith("error: the following arguments are required: --name")
    assert "Traceback" not in part.skipped


def test_a_script_without_training_says_so(tmp_path):
    part = rehearse(script(tmp_path, "print('hello')"))
    assert part.findings == []
    assert part.skipped == (
        "the script ran to its end without a training step: no optimizer of torch's was stepped"
    )


@pytest.mark.parametrize(
    "case",
    ["features-permuted-again", pytest.param("autocast-around-the-copy", marks=pytest.mark.exhaustive)],
)
def test_a_broken_project_is_named(case):
    wanted = json.loads((CASES / case / "case.json").read_text())["expect"]["family"]
    findings = loud(rehearse(CASES / case / "broken"))
    assert [f.family for f in findings] == wanted
    assert str(CASES / case) in str(findings[0].where)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "case",
    [
        "accumulation-never-read",
        "cache-that-dies-with-the-epoch",
        "compiled-and-never-called",
        "resumed-without-its-optimizer",
        "schedule-for-ten-epochs",
        "validated-at-another-size",
        "waits-for-every-clip",
    ],
)
def test_broken_projects_are_named_and_healthy_ones_left_alone(case):
    wanted = json.loads((CASES / case / "case.json").read_text())["expect"]["family"]
    assert {f.family for f in loud(rehearse(CASES / case / "broken"))} & set(wanted)
    assert loud(rehearse(CASES / case / "healthy")) == []


@pytest.mark.exhaustive
def test_where_only_the_compiler_fails_the_line_is_named_and_the_rest_is_rehearsed(tmp_path):
    source = """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(6, 1)
            def forward(self, x):
                if x.abs().sum() > 1e6:
                    x = x / 2
                return self.layer(x)

        net = Net()
        step = torch.compile(net, fullgraph=True, backend="aot_eager")
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(30):
            x = torch.randn(8, 6)
            opt.zero_grad()
            step(x).square().mean().backward()
            opt.step()
    """
    part = rehearse(script(tmp_path, source))
    (finding,) = loud(part)
    assert (finding.code, finding.where.line) == ("PM693", 10)
    assert part.record["facts"]["steps"] >= 5
