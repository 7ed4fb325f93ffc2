"""Terms without a graph, tokens that are counted, copies of saved files, metrics that add up, targets that are shifted."""

import shutil

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from premortem.events import CheckpointSaved, GraphWalked, LayerStats, LossCall, MetricCounted
from premortem.probes.compared_rows import shifted_by, start_in
from premortem.probes.running_metrics import by_design
from tests.heard import hearing


@pytest.mark.parametrize("graph", [True, False])
def test_a_term_of_a_loss_and_its_graph(graph):
    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for _ in range(2):
            x = torch.randn(8, 4)
            with torch.no_grad():
                wanted = teacher(x)
            output = student(x)
            soft = functional.mse_loss(output if graph else wanted, wanted + 1)
            loss = functional.cross_entropy(output, torch.arange(8) % 3) + 0.5 * soft
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            functional.mse_loss(student(x), wanted)
    assert {event.constant for event in heard if isinstance(event, GraphWalked)} == {not graph}
    calls = [event for event in heard if isinstance(event, LossCall)]
    assert [event.aside for event in calls] == [not graph, False] * 2 + [False]
    if not graph:
        rests = [event.rest for event in heard if isinstance(event, GraphWalked)]
        assert rests == pytest.approx([0.5 * event.value for event in calls if event.aside], rel=1e-4)


@pytest.mark.parametrize(
    ("create", "told"),
    [({}, True), ({"retain_graph": True}, True), ({"create_graph": True}, False)],
    ids=str,
)
@pytest.mark.parametrize("weight", [10.0, torch.tensor(10.0)], ids=["number", "tensor"])
def test_a_term_that_is_computed_of_a_gradient(create, told, weight):
    critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(critic.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for _ in range(2):
            x = torch.randn(8, 4).requires_grad_()
            verdict = critic(x)
            (slope,) = torch.autograd.grad(verdict.sum(), x, **create)
            loss = critic(x).square().mean() + weight * (slope.norm(dim=1) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    sites = {event.plain_gradients for event in heard if isinstance(event, GraphWalked)}
    assert (None not in sites) is told


def test_gradients_that_are_used_in_other_ways_are_no_terms():
    """An attack, weights that gradients balance, a first-order inner loop, a gradient that is only printed."""
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for _ in range(2):
            x, y = torch.randn(8, 4).requires_grad_(), torch.randn(8, 1)
            near = functional.mse_loss(model(x), y)
            (slope,) = torch.autograd.grad(near, x)
            far = functional.mse_loss(model((x + 0.1 * slope.sign()).detach()), y)
            mine, theirs = (
                torch.autograd.grad(each, model[2].weight, retain_graph=True)[0] for each in (far, far * 2)
            )
            fast = model[2].weight - 0.1 * mine
            inner = functional.mse_loss(model[:2](x) @ fast.T, y)
            loss = far + mine.norm() / theirs.norm() * inner
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert {event.plain_gradients for event in heard if isinstance(event, GraphWalked)} == {None}


def total(model):
    return sum(p.data.abs().sum() for p in model.parameters())


def summed(model):
    penalty = torch.tensor(0.0)
    for p in model.parameters():
        penalty += p.detach().square().sum()
    return penalty


PENALTIES = {
    "data": (lambda near, model: near + 0.1 * total(model), True),
    "detached": (lambda near, model: (0.1 * summed(model) + near) / 4, True),
    "one vector": (
        lambda near, model: near + torch.cat([p.data.flatten() for p in model.parameters()]).norm(),
        True,
    ),
    "in place": (lambda near, model: (near * 2).add_(total(model)), True),
    "with a graph": (lambda near, model: near + sum(p.abs().sum() for p in model.parameters()), False),
    "only looked at": (lambda near, model: (near, print((near + total(model)).item()))[0], False),
    "a scale": (lambda near, model: near / total(model), False),
    "where it began": (
        lambda near, model: near + model[0].weight.norm() - model[0].weight.data.norm(),
        False,
    ),
    "a ratio": (lambda near, model: near + model[0].weight.norm() / model[0].weight.data.norm(), False),
    "squared": (lambda near, model: (near + total(model)).square(), False),
    "from a copy": (
        lambda near, model: near + (model[0].weight - model[0].weight.data.clone()).norm(),
        False,
    ),
    "a frozen copy": (
        lambda near, model: near + functional.linear(torch.ones(4), model[0].weight.data).mean(),
        False,
    ),
    "a temperature": (lambda near, model: near * model[2].bias.detach().exp().sum() + near, False),
}


@pytest.mark.parametrize("how", PENALTIES)
def test_a_penalty_on_weights_and_their_graph(how):
    put_together, told = PENALTIES[how]
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for _ in range(2):
            loss = put_together(functional.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1)), model)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    sites = {event.plain_weights for event in heard if isinstance(event, GraphWalked)}
    assert (None not in sites) is told


@pytest.mark.parametrize(
    ("put_together", "rest"),
    [
        (lambda loss: 0.0 + loss, 0.0),
        (lambda loss: loss + 1e-8, 0.0),
        (lambda loss: -(3 - 2 * loss / 4) + 1, -2.0),
        (lambda loss: sum([loss, loss.detach()]) - loss.square(), None),
    ],
)
def test_what_a_loss_has_beside_its_terms(put_together, rest):
    model = nn.Linear(4, 3)
    with hearing() as (heard, _):
        put_together(functional.cross_entropy(model(torch.randn(8, 4)), torch.arange(8) % 3)).backward()
    (walked,) = [event for event in heard if isinstance(event, GraphWalked)]
    assert walked.rest == (rest if rest is None else pytest.approx(rest, abs=1e-5))


def test_tokens_that_a_loss_counts():
    model = nn.Sequential(nn.Embedding(9, 6), nn.Linear(6, 9))
    with hearing() as (heard, _):
        ids = torch.randint(1, 9, (3, 7))
        targets = ids.roll(-1, 1).clone()
        targets[:, 5:] = -100
        functional.cross_entropy(model(ids).flatten(0, 1), targets.flatten())
        functional.cross_entropy(model(ids).mean(1), ids[:, 0])  # one target for each sample
    assert [event.counted for event in heard if isinstance(event, LossCall)] == [15, None]


def test_a_copy_of_the_file_that_was_saved_last(tmp_path):
    model = nn.Linear(2, 2)
    with hearing() as (heard, _):
        torch.save(model.state_dict(), tmp_path / "last.pt")
        shutil.copyfile(tmp_path / "last.pt", tmp_path / "best.pt")
        (tmp_path / "notes").write_text("")
        shutil.copy(tmp_path / "notes", tmp_path / "best.txt")  # another file
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        shutil.copyfile(tmp_path / "last.pt", tmp_path / "kept.pt")  # by now the model has other weights
    saved = [event.path for event in heard if isinstance(event, CheckpointSaved)]
    assert saved == [str(tmp_path / "last.pt"), str(tmp_path / "best.pt")]


@pytest.mark.parametrize(("resets", "counts"), [(True, [3, 3]), (False, [3, 6])])
def test_batches_in_a_metric_when_a_pass_begins(resets, counts):
    classification = pytest.importorskip("torchmetrics.classification")
    with hearing() as (heard, _):
        metric = classification.BinaryAccuracy()
        data = TensorDataset(torch.rand(12), torch.randint(0, 2, (12,)))
        loader = DataLoader(data, batch_size=4)
        for _ in range(3):
            if resets:
                metric.reset()
            for scores, labels in loader:
                metric.update(scores, labels)
            metric.compute()
    if resets:  # it is emptied before the pass begins
        counts = []
    seen = [event for event in heard if isinstance(event, MetricCounted)]
    assert [event.updates for event in seen] == counts
    assert all(event.computed for event in seen)


def test_metrics_that_are_meant_to_go_on():
    torchmetrics = pytest.importorskip("torchmetrics")
    kept = [torchmetrics.SumMetric(), torchmetrics.MaxMetric(), type("Seen", (torchmetrics.SumMetric,), {})()]
    kept += [torchmetrics.wrappers.Running(torchmetrics.MeanMetric()), torchmetrics.RunningMean()]
    assert all(map(by_design, kept))
    assert not by_design(torchmetrics.MeanMetric())


def test_layers_that_run_without_gradients_inside_a_model():
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.teacher, self.student = nn.BatchNorm1d(4), nn.BatchNorm1d(4)

        def forward(self, x):
            with torch.no_grad():
                y = self.teacher(x)
            return self.student(x) - y

    model = Pair()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()
    seen = {
        (event.layer.rpartition(".")[2], event.off)
        for event in heard
        if isinstance(event, LayerStats) and event.statistics
    }
    assert seen == {("teacher", True), ("student", False)}


@pytest.mark.parametrize("shift", [-1, 0, 1, 2, 3])
def test_how_far_ahead_targets_stand(shift):
    torch.manual_seed(0)
    tokens = torch.randint(0, 50, (4, 20))
    targets = torch.full_like(tokens, -100)
    first, last = max(0, -shift), min(20, 20 - shift)
    targets[:, first:last] = tokens[:, first + shift : last + shift]
    assert shifted_by(tokens, targets) == shift
    assert shifted_by(tokens, torch.randint(0, 50, (4, 20))) is None
    assert shifted_by(torch.ones_like(tokens), torch.ones_like(tokens)) is None  # it is like itself


def test_from_which_place_on_an_output_is_scored():
    output = torch.randn(4, 20, 7)
    assert start_in(output, output.reshape(-1, 7)) == 0
    assert start_in(output, output[:, 1:].reshape(-1, 7)) == 1
    assert start_in(output, output[:, :-1].reshape(-1, 7)) == 0
    assert start_in(output, torch.randn(76, 7)) is None
