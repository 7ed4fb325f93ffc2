"""What flows into a model, as it is told: real loops in this process."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset

from premortem.events import DataProfiled, EnvironmentRead, StateLoaded
from premortem.probes import inflow
from premortem.probes.rows import partner
from premortem.profile.lying import wrong
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


class Nodes(nn.Module):
    """Of nodes and the graph that each belongs to: one answer for each graph, or for each node."""

    def __init__(self, pools):
        super().__init__()
        self.pools, self.body = pools, nn.Linear(6, 3)

    def forward(self, x, graph):
        made = self.body(x)
        return made.new_zeros(16, 3).index_add(0, graph, made) if self.pools else made


@pytest.mark.parametrize("pools", [True, False])
def test_what_the_model_is_given_is_no_label_unless_a_loss_says_so(pools):
    net, data = Nodes(pools), [(torch.randn(4, 6), torch.tensor(at % 3)) for at in range(96)]

    def collate(items):
        graph = torch.arange(len(items)).repeat_interleave(4)
        labels = torch.stack([y for _, y in items])
        return torch.cat([x for x, _ in items]), graph, labels if pools else labels.repeat_interleave(4)

    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    loader = DataLoader(data, 16, collate_fn=collate, shuffle=True)
    with hearing() as (heard, _):
        for _ in range(3):
            for x, graph, y in loader:
                opt.zero_grad()
                nn.functional.cross_entropy(net(x, graph), y).backward()
                opt.step()
    (told,) = [profile for profile in last(heard).profiles if not profile.beside]
    assert [label for label, _ in sorted(told.classes)] == ([] if pools else ["0", "1", "2"])


class Pictures(Dataset):
    """Squares on noise, with the mask of each; `flips` of every other picture, and not of its mask."""

    def __init__(self, number, flips):
        draw = torch.Generator().manual_seed(number)
        self.masks = torch.zeros(number, 16, 16, dtype=torch.long)
        for mask in self.masks:
            top, left = torch.randint(0, 8, (2,), generator=draw).tolist()
            mask[top : top + 6, left : left + 5] = 1
        self.pictures = self.masks[:, None] + 0.3 * torch.randn(number, 1, 16, 16, generator=draw)
        self.flips = flips

    def __len__(self):
        return len(self.masks)

    def __getitem__(self, at):
        picture = self.pictures[at]
        return picture.flip(-1) if self.flips and at % 2 else picture, self.masks[at]


@pytest.mark.parametrize("flips", [False, True])
def test_masks_are_laid_on_their_pictures(flips, monkeypatch):
    monkeypatch.setattr(inflow, "_FREE", 60.0)
    net = nn.Conv2d(1, 2, 3, padding=1)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for x, y in DataLoader(Pictures(64, flips), batch_size=16):
            opt.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            opt.step()
    profile, masks = last(heard).profiles
    assert (masks.name, masks.beside) == ("loader 1, batch[1]", "target")
    found = wrong(profile.laid)
    assert (found is not None and found[0] == "mirrored left to right") if flips else found is None
    assert dict(profile.laid)["as it is"] >= 5


class Noisy(TensorDataset):
    """A random transform in each pass."""

    def __getitem__(self, at):
        x, y = super().__getitem__(at)
        return x + 0.5 * torch.randn_like(x), y


@pytest.mark.parametrize("kind", [TensorDataset, Noisy])
def test_the_samples_of_two_passes_are_compared(kind):
    x, y, net = torch.randn(64, 6), torch.randint(0, 3, (64,)), nn.Linear(6, 3)
    train, val = DataLoader(TensorDataset(x, y), batch_size=16), DataLoader(kind(x + 1, y), batch_size=16)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for _ in range(3):
            net.train()
            for a, b in train:
                opt.zero_grad()
                nn.functional.cross_entropy(net(a), b).backward()
                opt.step()
            net.eval()
            with torch.no_grad():
                for a, b in val:
                    nn.functional.cross_entropy(net(a), b)
    seen = {profile.phase: profile.versions for profile in last(heard).profiles}
    assert seen["training"].changed == 0
    assert seen["training"].alike > 0.99
    assert seen["evaluation"].compared == 64
    assert seen["evaluation"].relabelled == 0
    assert seen["evaluation"].changed == (64 if kind is Noisy else 0)


def test_a_state_with_the_statistics_of_a_new_layer_is_told():
    body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))
    nn.init.uniform_(body[1].weight)
    fresh = {name: value.clone() for name, value in body.state_dict().items()}
    body(torch.randn(32, 4))
    with hearing() as (heard, _):
        body.load_state_dict(body.state_dict())
        body.load_state_dict(fresh)
    assert [event.uncounted for event in heard if isinstance(event, StateLoaded)] == [(), ("1",)]


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(6, 3), nn.Linear(4, 3)

    def forward(self, first, second):
        return self.one(first) + self.two(second)


def test_what_comes_beside_the_first_input_is_told():
    """A second input, and targets of three columns; a label of one number stays with the first input."""
    x, second, y, net = torch.randn(96, 6), torch.randn(96, 4), torch.randn(96, 3), Two()
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    train = DataLoader(TensorDataset(x, second, y), batch_size=16, shuffle=True)
    val = DataLoader([{"x": a, "t": b} for a, b in zip(x, second, strict=True)], batch_size=32)
    with hearing() as (heard, _):
        for a, b, c in train:
            opt.zero_grad()
            nn.functional.mse_loss(net(a, b), c).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            for batch in val:
                net(batch["x"], batch["t"])
    told = {profile.name: profile for profile in last(heard).profiles}
    assert {name: profile.beside for name, profile in told.items()} == {
        "`train`": "",
        "`train`, batch[1]": "input",
        "`train`, batch[2]": "target",
        "`val`": "",
        "`val`, batch['t']": "input",
    }
    assert told["`train`, batch[2]"].columns[0].name == "batch[2][:, 0]"
    assert told["`train`, batch[1]"].sampled == 96


def test_labels_of_a_set_that_is_judged_without_a_loader_lie_beside_it():
    x, y, net = torch.randn(160, 6), torch.randint(0, 3, (160,)), nn.Linear(6, 3)
    vx, vy = torch.randn(90, 6), torch.arange(90) % 3
    opt = torch.optim.SGD(net.parameters(), lr=0.01)

    def judge():
        net.eval()
        with torch.no_grad():
            guess = torch.cat([net(vx[at : at + 30]).argmax(1) for at in range(0, 90, 30)])
        net.train()
        return (guess == vy).float().mean()

    with hearing() as (heard, _):
        judge()
        for _ in range(3):
            for a, b in DataLoader(TensorDataset(x, y), batch_size=16):
                opt.zero_grad()
                nn.functional.cross_entropy(net(a), b).backward()
                opt.step()
            judge()
    (judged,) = [p for p in last(heard).profiles if p.phase == "evaluation"]
    assert dict(judged.classes) == {"0": 30, "1": 30, "2": 30}


def test_an_evaluation_before_training_leaves_time_for_it(monkeypatch):
    monkeypatch.setattr(inflow, "_BEFORE", 0.0)
    monkeypatch.setattr(inflow, "_FREE", 60.0)
    x, y, net = torch.randn(160, 6), torch.randn(160), nn.Linear(6, 1)
    vx = torch.randn(80, 6)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    with hearing() as (heard, _):
        net.eval()
        with torch.no_grad():
            for _ in range(3):
                net(vx)
        net.train()
        for idx in torch.randperm(160).split(16):
            step(net, opt, x[idx], y[idx])
    (trained,) = [p for p in last(heard).profiles if p.phase == "training"]
    assert trained.rows == 160


def test_queries_and_what_they_are_looked_up_in_are_no_leak(monkeypatch):
    monkeypatch.setattr(inflow, "_FREE", 60.0)
    train, test = torch.randn(320, 6), torch.randn(80, 6)
    y, net = torch.randn(320), nn.Linear(6, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for _ in range(3):
            for idx in torch.randperm(320).split(16):
                step(net, opt, train[idx], y[idx])
            net.eval()
            with torch.no_grad():
                net(test)
                net(train)
            net.train()
    assert [p for p in last(heard).profiles if p.phase == "evaluation"]
    assert last(heard).overlaps == ()


def test_a_training_that_took_its_time_leaves_some_for_the_evaluation(monkeypatch):
    monkeypatch.setattr(inflow, "_FREE", 60.0)
    monkeypatch.setattr(inflow, "_TRAINING", 0.0)  # spent with the first look
    x, y, net = torch.randn(160, 6), torch.randn(160), nn.Linear(6, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    with hearing() as (heard, watcher):
        inflow_of = watcher._attachment.inflow
        for idx in torch.randperm(160).split(16):
            step(net, opt, x[idx], y[idx])
        inflow_of._spent[True] = 90.0  # one summary took longer than all there is
        net.eval()
        with torch.no_grad():
            net(x[:80].clone())
        net.train()
        step(net, opt, x[:16], y[:16])
    assert {p.rows for p in last(heard).profiles if p.phase != "training"} == {80}


@pytest.mark.parametrize("beside", ["numbers", "two", "array"])
def test_what_is_as_long_as_a_set_is_not_always_its_labels(beside):
    vx = torch.randn(90, 6)
    held = {
        "numbers": (torch.randperm(90),),
        "two": (torch.arange(90) % 3, torch.nn.functional.one_hot(torch.arange(90) % 4)),
        "array": (torch.arange(90) % 3, np.zeros(90)),
    }[beside]
    assert partner(vx) is None
    assert len(held[0]) == 90


@pytest.mark.parametrize("draws", [True, False], ids=["samples that are drawn", "batches of a set"])
def test_samples_that_are_being_drawn_are_no_evaluation(draws):
    """A model is given its own samples again and again, a little changed: they are not data."""
    torch.manual_seed(0)
    x = torch.randn(200, 6)
    model = nn.Linear(6, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for _ in range(3):
            for i in range(0, 200, 20):
                loss = (model(x[i : i + 20]) - x[i : i + 20]).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                sample = torch.randn(32, 6)
                for _ in range(8):
                    said = model(sample)
                    sample = sample + 0.3 * said if draws else torch.randn(32, 6)
            model.train()
    phases = {p.phase for event in heard if isinstance(event, DataProfiled) for p in event.profiles}
    assert ("evaluation" in phases) is not draws


def test_points_with_a_gradient_of_their_own_are_samples_that_no_profile_has():
    net = nn.Linear(1, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for _ in range(40):
            t = torch.rand(16, 1, requires_grad=True)
            (slope,) = torch.autograd.grad(net(t).sum(), t, create_graph=True)
            start = nn.functional.mse_loss(net(torch.zeros(4, 1)), torch.ones(4, 1))
            opt.zero_grad()
            (start + (slope + 1).square().mean()).backward()
            opt.step()
    assert all(profile.is_part for profile in last(heard).profiles)


def test_rows_as_they_are_read_are_all_that_a_model_is_given():
    x, y, net = torch.randn(160, 6), torch.randn(160), nn.Linear(6, 1)
    assert not any(profile.is_part for profile in trained(net, x, y, lambda: net(x[:80])).profiles)


def test_rows_that_the_script_makes_on_the_spot():
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for _ in range(40):
            step(net, opt, torch.ones(16, 4), torch.randn(16))
    assert all(profile.is_made for profile in last(heard).profiles)


def test_a_second_set_of_a_step_is_trained_on_as_well():
    """Rows of another domain, whose labels are not used: to judge them is no leak."""
    x, other, y, net = torch.randn(160, 6), torch.randn(160, 6), torch.randn(160), nn.Linear(6, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for _ in range(3):
            for one, two in zip(torch.randperm(160).split(16), torch.randperm(160).split(16), strict=True):
                opt.zero_grad()
                apart = (net(x[one]).mean() - net(other[two]).mean()).square()
                (apart + nn.functional.mse_loss(net(x[one]).squeeze(1), y[one])).backward()
                opt.step()
            with torch.no_grad():
                net(other)
    assert last(heard).overlaps == ()
