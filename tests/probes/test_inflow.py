"""What flows into a model, as it is told: real loops in this process."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

from premortem.events import DataProfiled, EnvironmentRead
from premortem.probes import inflow
from tests.heard import hearing


def last(heard):
    return [event for event in heard if isinstance(event, DataProfiled)][-1]


def step(net, opt, x, y):
    opt.zero_grad()
    nn.functional.mse_loss(net(x).squeeze(1), y).backward()
    opt.step()


def trained(net, x, y, judge, epochs=3):
    """The usual loop; `judge` is called after each epoch."""
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for _ in range(epochs):
            net.train()
            for idx in torch.randperm(len(x)).split(16):
                step(net, opt, x[idx], y[idx])
            net.eval()
            with torch.no_grad():
                judge()
    return last(heard)


def test_rows_that_are_in_both_are_counted():
    x, y, net = torch.randn(160, 6), torch.randn(160), nn.Linear(6, 1)
    vx = x[:80].clone()
    told = trained(net, x, y, lambda: net(vx))
    (found,) = told.overlaps
    assert (found.first, found.second, found.shared, found.of) == ("`x`", "`vx`", 80, 80)


def test_the_training_accuracy_is_no_leak():
    x, y, net = torch.randn(160, 6), torch.randn(160), nn.Linear(6, 1)
    assert trained(net, x, y, lambda: net(x)).overlaps == ()


def test_parts_of_one_dataset_share_rows_only_when_it_holds_copies():
    x, y, net = torch.randn(120, 6), torch.randn(120), nn.Linear(6, 1)

    def told(whole):
        train, val = Subset(whole, range(80)), Subset(whole, range(80, 120))
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        with hearing() as (heard, _):
            for _ in range(3):
                net.train()
                for a, b in DataLoader(train, batch_size=16, shuffle=True):
                    step(net, opt, a, b)
                net.eval()
                with torch.no_grad():
                    for a, _b in (val_loader := DataLoader(val, batch_size=40)):
                        net(a)
                assert val_loader is not None
        return last(heard)

    assert told(TensorDataset(x, y)).overlaps == ()
    copied = torch.cat([x[:80], x[:40]])
    assert {found.shared for found in told(TensorDataset(copied, y)).overlaps} == {40}


def test_a_forward_of_each_step_is_no_evaluation():
    net, opt_target = nn.Linear(6, 1), nn.Linear(6, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    states = torch.randn(300, 6)
    with hearing() as (heard, _):
        for at in range(60):
            chosen = torch.randint(0, 300, (16,))
            with torch.no_grad():
                wanted = net(states[chosen]).squeeze(1) + opt_target(states[chosen]).squeeze(1)
            step(net, opt, states[torch.randint(0, 300, (16,))], wanted)
            assert at < 60
    told = last(heard)
    assert told.overlaps == ()
    assert "evaluation" not in {profile.phase for profile in told.profiles}


def test_classes_columns_and_lengths_are_told():
    x, y, net = torch.randn(96, 6), torch.randint(0, 3, (96,)), nn.Linear(6, 3)
    x[:, 2] = 7.5
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    with hearing() as (heard, _):
        for _ in range(2):
            for a, b in loader:
                opt.zero_grad()
                nn.functional.cross_entropy(net(a), b).backward()
                opt.step()
    (profile,) = last(heard).profiles
    assert (profile.name, profile.phase, profile.length) == ("`loader`", "training", 96)
    assert {label for label, _ in profile.classes} == {"0", "1", "2"}
    assert (profile.columns[2].low, profile.columns[2].high) == (7.5, 7.5)
    assert profile.distinct == 96


def test_nothing_is_looked_at_when_the_time_is_spent(monkeypatch):
    monkeypatch.setattr(inflow, "_FREE", -1.0)
    monkeypatch.setattr(inflow, "_SHARE", 0.0)
    x, y, net = torch.randn(64, 6), torch.randn(64), nn.Linear(6, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for idx in torch.randperm(64).split(16):
            step(net, opt, x[idx], y[idx])
    assert not [event for event in heard if isinstance(event, DataProfiled)]


def test_a_variable_that_the_script_asks_for_is_told(monkeypatch, tmp_path):
    import sys
    import types

    script = tmp_path / "settings_of_a_test.py"
    script.write_text(
        'import os\nROWS = os.environ.get("ROWS_OF_A_TEST")\nKEY = os.environ.get("API_KEY_OF_A_TEST")\n'
    )
    module = types.ModuleType("settings_of_a_test")
    module.__file__ = str(script)
    monkeypatch.setitem(sys.modules, "settings_of_a_test", module)
    monkeypatch.setenv("ROWS_OF_A_TEST", "32")
    monkeypatch.setenv("API_KEY_OF_A_TEST", "12345678")
    monkeypatch.setenv("NOT_ASKED_FOR", "1")
    with hearing() as (heard, _):
        pass
    (told,) = [event for event in heard if isinstance(event, EnvironmentRead)]
    assert ("ROWS_OF_A_TEST", "32") in {(v.name, v.value) for v in told.variables}
    assert not {"API_KEY_OF_A_TEST"} & {v.name for v in told.variables}
