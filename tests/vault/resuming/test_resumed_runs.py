"""A run that goes on from a checkpoint: each piece that is forgotten is named, and nothing is said of the whole."""

import json
import sys

import pytest

from tests import starting
from tests.vault.resuming.scripts import script

RELATED = {f"PM{number}" for number in (311, 312, 313, 314, 315, 335, 336, 337, 338, 339, 340)}


def run(tmp_path, source, *, watched):
    train = tmp_path / "train.py"
    train.write_text(source)
    command = [sys.executable]
    if watched:
        command += ["-m", "premortem", "run", "--quiet", "--findings", str(tmp_path / "found.json")]
    done = starting.run([*command, "train.py"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    if not watched:
        return []
    return json.loads((tmp_path / "found.json").read_text())["findings"]


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """The file that a first run leaves; runs that are the same are made once."""
    made = {}

    def earlier(**before):
        source = script(**before)
        if source not in made:
            folder = tmp_path_factory.mktemp("earlier")
            run(folder, source, watched=False)
            made[source] = (folder / "last.pt").read_bytes()
        return made[source]

    return earlier


@pytest.fixture
def resumed(tmp_path, earlier):
    def resumed(before=None, **changed):
        """What is said of the second run, which goes on from the file of the first."""
        (tmp_path / "last.pt").write_bytes(earlier(**(before or {})))
        return run(tmp_path, script(**changed), watched=True)

    return resumed


FORGOTTEN = {
    "optimizer": ("PM312", {"optimizer": "", "scaler": ""}, {}),
    "scheduler": ("PM336", {"schedule": ""}, {}),
    "schedule built after the load": (
        "PM336",
        {
            "schedule": "",
            "after": "if resuming: scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda e: 1 - e / 50)",
        },
        {"scheduler": "torch.optim.lr_scheduler.LambdaLR(optimizer, lambda e: 1 - e / 10)"},
    ),
    "scaler": ("PM338", {"scaler": ""}, {"scale": "64.0"}),
    "counter": ("PM339", {"loop": "range(EPOCHS)"}, {}),
    "average": ("PM340", {"average": ""}, {}),
    "longer schedule": ("PM337", {"epochs": "24"}, {}),
    "lower rate": ("PM337", {"lr": "0.002"}, {}),
}


def often(cases, count):
    """The first ones; the others are more of the same kind."""
    return [
        pytest.param(case, marks=[] if number < count else pytest.mark.exhaustive)
        for number, case in enumerate(cases)
    ]


@pytest.mark.parametrize("case", often(FORGOTTEN, 4))
def test_what_was_forgotten_is_named_at_the_line_that_loaded(tmp_path, resumed, case):
    code, changed, before = FORGOTTEN[case]
    found = resumed(before=before, **changed)
    named = [f for f in found if f["code"] in RELATED and f["severity"] != "info"]
    assert [f["code"] for f in named] == [code], [f["message"] for f in found]
    line = (tmp_path / "train.py").read_text().splitlines()[named[0]["where"]["line"] - 1]
    assert "torch.load" in line


ORDERS = {
    "names": {"parameters": "model.named_parameters()"},
    "no names": {},
}


@pytest.mark.parametrize("case", often(ORDERS, 1))
def test_moments_that_went_to_another_layer_are_named(resumed, case):
    same = [
        "self.first = nn.Linear(12, 24)",
        "self.second = nn.Linear(24, 24)",
        "self.last = nn.Linear(24, 1)",
    ]
    before = {"layers": "; ".join([*same[:2], "self.extra = nn.Linear(24, 24)", same[2]])}
    after = {"layers": "; ".join([same[0], "self.extra = nn.Linear(24, 24)", *same[1:]])}
    found = resumed(before={**before, **ORDERS[case]}, **after, **ORDERS[case])
    named = [f for f in found if f["code"] == "PM335"]
    assert [f["severity"] for f in named] == ["error"], [f["message"] for f in found]
    assert "second.weight" in named[0]["message"]


HEALTHY = {
    "all of it": {},
    "wound forward by hand": {
        "schedule": "[scheduler.step() for _ in range(checkpoint['epoch'] + 1)]",
        "optimizer": "",
        "after": "if resuming: optimizer.load_state_dict(checkpoint['optimizer'])",
    },
    "a new training from old weights": {
        "optimizer": "",
        "schedule": "",
        "scaler": "",
        "counter": "",
        "average": "",
    },
    "a frozen copy beside a restored average": {
        "average": 'if resuming: ema.load_state_dict(checkpoint["ema"])\nreference = copy.deepcopy(model).eval()'
    },
    "an offset is added": {"loop": "range(EPOCHS - start_epoch)"},
    "a rate of its own after the load": {
        "lr": "0.002",
        "after": "for group in optimizer.param_groups: group['lr'] = group['initial_lr'] = 0.002\n"
        "scheduler.base_lrs = [0.002]",
    },
    "a second phase at a rate of its own": {
        "schedule": "",
        "after": "if resuming:\n"
        "    for group in optimizer.param_groups: group['lr'] = group['initial_lr'] = 0.002\n"
        "    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS)",
    },
    "a second phase with another schedule": {
        "schedule": "",
        "after": "if resuming: scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1)",
    },
}


@pytest.mark.parametrize("case", often(HEALTHY, 4))
def test_nothing_is_said_of_a_resume_that_is_whole(resumed, case):
    found = resumed(**HEALTHY[case])
    assert [f["message"] for f in found if f["code"] in RELATED and f["severity"] != "info"] == []
    assert [f for f in found if f["severity"] == "error"] == []
