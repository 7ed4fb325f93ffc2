"""Experiments: what is measured, and that nothing of them is left in the run."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from premortem.events import Experimented
from premortem.probes import experiments
from premortem.probes.padding import padding_of
from premortem.probes.pure_forward import apart, may_repeat
from premortem.probes.target_relation import related
from tests.heard import hearing


@pytest.fixture(autouse=True)
def _however_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "_SECONDS", float("inf"))


class TimeFirst(nn.Module):
    """(time, batch): its first dimension is no batch, and its past does not depend on what comes last."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(20, 16)
        self.mix = nn.GRU(16, 16)
        self.out = nn.Linear(16, 20)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.mix(self.tokens(x))[0])


class Net(nn.Module):
    """One sequence model, with one thing wrong at a time."""

    def __init__(self, how: str = "") -> None:
        super().__init__()
        self.how = how
        self.tokens = nn.Embedding(20, 16)
        self.places = nn.Embedding(64, 16)
        self.mix = nn.GRU(16, 16, batch_first=True, bidirectional=how == "both ways")
        self.out = nn.Linear(32 if how == "both ways" else 16, 20)
        self.seen = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.how == "rows":
            places = torch.arange(x.size(0)).unsqueeze(1)
        else:
            places = torch.arange(x.size(1)).unsqueeze(0)
        h = self.tokens(x) + self.places(places)
        if self.how == "batch":
            h = h - h.mean(0)
        if self.how == "counts":
            self.seen += 1
        if self.how == "noise":
            h = h + torch.randn_like(h)
        return self.out(self.mix(h)[0])


def train(how: str = "", *, shift: int = 1, steps: int = 8, first: bool = False) -> list[Experimented]:
    with hearing() as (heard, _):
        model = TimeFirst() if first else Net(how)
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)
        for _ in range(steps):
            x = torch.randint(0, 20, (12, 9))
            y = torch.cat([x[:, shift:], torch.randint(0, 20, (12, shift))], 1)
            loss = functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return [event for event in heard if isinstance(event, Experimented)]


class Members(nn.Module):
    """An ensemble: each row goes to a member of its own."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(rows, 6, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.einsum("mi,mio->mo", x, self.weight)


class RowsNumbered(nn.Module):
    """A table of positions that is added along the batch; its width is the size of the batch."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.spread = nn.Linear(6, rows)
        self.places = nn.Embedding(64, rows)
        self.out = nn.Linear(rows, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.relu(self.spread(x) + self.places(torch.arange(x.size(0)))))


@pytest.mark.parametrize("kind", [Members, RowsNumbered])
def test_a_width_that_is_the_size_of_the_batch_is_no_weight_for_each_row(kind: type[nn.Module]) -> None:
    rows = 12
    with hearing() as (heard, _):
        model = kind(rows)
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)
        for _ in range(8):
            optimizer.zero_grad()
            functional.cross_entropy(model(torch.randn(rows, 6)), torch.randint(0, 3, (rows,))).backward()
            optimizer.step()
    events = [event for event in heard if isinstance(event, Experimented)]
    assert events
    for event in events:
        assert event.effects[ORDER] > 0
        assert event.own_rows is (kind is Members)


OTHER, ORDER, FUTURE = "other samples in the batch", "another order of the samples", "another future"


def test_a_sound_model_changes_nothing_it_must_not_change() -> None:
    first, second = train()
    for event in (first, second):
        assert event.effects == {OTHER: 0.0, ORDER: 0.0, FUTURE: 0.0}
        assert event.relation == "shifted"
        assert not event.noisy


@pytest.mark.parametrize(
    ("how", "touched"), [("rows", {ORDER}), ("batch", {OTHER, ORDER, FUTURE}), ("both ways", {FUTURE})]
)
def test_each_mistake_shows_in_its_experiment(how: str, touched: set[str]) -> None:
    events = train(how)
    assert len(events) == 2
    for event in events:
        changed = {name for name, effect in event.effects.items() if effect > 1e-3}
        assert changed <= touched
        assert changed >= touched - {ORDER, FUTURE} if how == "batch" else changed == touched


class Recogniser(nn.Module):
    """It hands the lengths of its samples on, as they are after its stride; with `forgets` they are lost."""

    def __init__(self, forgets: bool) -> None:
        super().__init__()
        self.forgets = forgets
        self.out = nn.Linear(6, 4)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> Any:
        scores = self.out(x[:, ::2]).log_softmax(-1)
        return scores if self.forgets else (scores, (lengths + 1) // 2)


class Conditioned(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(7, 4)

    def forward(self, inputs: torch.Tensor, when: torch.Tensor) -> torch.Tensor:
        return self.out(torch.cat([inputs, when], 1))


class Baseline(nn.Module):
    """It takes what the other model takes, and looks at less."""

    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(6, 4)

    def forward(self, inputs: torch.Tensor, when: torch.Tensor) -> torch.Tensor:
        return self.out(inputs)


def test_a_model_that_always_says_the_same_leaves_no_input_out() -> None:
    with hearing() as (heard, _):
        model = Recogniser(forgets=True)
        nn.init.zeros_(model.out.weight)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        for _ in range(8):
            scores = model(torch.randn(16, 10, 6), torch.randint(1, 11, (16,)))
            optimizer.zero_grad()
            functional.nll_loss(scores[:, 0], torch.randint(0, 4, (16,))).backward()
            optimizer.step()
    asked = [event for event in heard if isinstance(event, Experimented)]
    assert asked
    assert all(len(event.ignored) == 2 and not event.demanded for event in asked)


def test_a_baseline_need_not_look_at_all_that_the_other_models_are_given(monkeypatch: Any) -> None:
    def asked() -> set[str]:
        with hearing() as (heard, _):
            model = Baseline()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            for _ in range(8):
                scores = model(torch.randn(16, 6), torch.rand(16, 1))
                optimizer.zero_grad()
                functional.cross_entropy(scores, torch.randint(0, 4, (16,))).backward()
                optimizer.step()
        return {name for event in heard if isinstance(event, Experimented) for name in event.demanded}

    assert asked() == set()
    monkeypatch.delitem(globals(), "Conditioned")
    assert asked() == {"when"}


@pytest.mark.parametrize("forgets", [False, True])
def test_whole_numbers_that_come_out_are_an_effect(forgets: bool) -> None:
    with hearing() as (heard, _):
        model = Recogniser(forgets)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(8):
            made = model(torch.randn(16, 10, 6), torch.randint(1, 11, (16,)))
            scores = made if forgets else made[0]
            optimizer.zero_grad()
            functional.nll_loss(scores[:, 0], torch.randint(0, 4, (16,))).backward()
            optimizer.step()
    asked = [event.demanded for event in heard if isinstance(event, Experimented)]
    assert asked
    assert ("lengths" in asked[-1]) is forgets


def test_rows_of_a_sequence_depend_on_each_other() -> None:
    for event in train(first=True):
        assert event.effects[OTHER] > 1e-3


def test_targets_that_are_the_inputs_are_known() -> None:
    assert {event.relation for event in train(shift=0)} == {"same"}
    assert {event.relation for event in train(shift=3)} == {""}


def test_a_model_that_draws_noise_is_not_asked_about_the_order() -> None:
    for event in train("noise"):
        assert event.noisy
        assert set(event.effects) <= {OTHER, FUTURE}
        assert event.effects[OTHER] == 0.0


def test_a_model_that_counts_its_calls_is_left_alone() -> None:
    assert train("counts") == []


def test_what_a_forward_pass_writes_is_put_back() -> None:
    class Writes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(2))
            self.history: list[Any] = [1]
            self.state: Any = None
            self.layer = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total += 1
            self.history.append(2)
            self.state = x
            self.new = x
            print("called")
            return self.layer(x)

    model = Writes().train()
    before = torch.get_rng_state(), random.getstate()
    buffer = model.total
    with apart(model) as kept, torch.no_grad():
        assert not model.training
        assert not model.layer.training
        model(torch.randn(3, 2))
        random.random()
    assert not kept.clean
    assert model.training
    assert model.layer.training
    assert model.total is buffer
    assert model.total.tolist() == [0, 0]
    assert (model.history, model.state, hasattr(model, "new")) == ([1], None, False)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]


LOG: list[int] = []
SETTINGS = {"width": 4}


def noted(x: torch.Tensor) -> torch.Tensor:
    LOG.append(1)
    return x


class Speaks(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        print(x.shape)
        return super().forward(x)


class Notes(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return noted(super().forward(x))


class Reads(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) * SETTINGS["width"]


def test_only_a_forward_without_traces_may_be_repeated() -> None:
    hooked = nn.Linear(2, 2)
    hooked.register_forward_hook(lambda *_: None)
    assert [may_repeat(m) for m in (nn.Linear(2, 2), Reads(2, 2), Speaks(2, 2), Notes(2, 2), hooked)] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_relations_of_a_target_to_an_input() -> None:
    x = torch.randint(0, 50, (6, 10))
    assert related([x[:, :-1]], x[:, 1:]).kind == "shifted"
    assert related([x], x[:, 1:].reshape(-1)).kind == "shifted"
    assert related([x.t()], torch.cat([x.t()[1:], x.t()[:1]])).axis == 0
    assert related([x], x.reshape(-1)).kind == "same"
    assert related([x], torch.randint(0, 50, (6, 10))).kind == ""
    assert related([torch.ones(6, 10, dtype=torch.long)], torch.ones(6, 10, dtype=torch.long)).kind == ""
    series = torch.randn(4, 12, 1)
    assert related([series[:, :-1]], series[:, 1:]).kind == "shifted"


def test_padding_is_known_by_its_looks() -> None:
    rows = torch.zeros(8, 12, dtype=torch.long)
    for i in range(8):
        rows[i, : 4 + i] = torch.randint(3, 20, (4 + i,))
    source, target = rows[:, :-1], rows[:, 1:]
    assert padding_of(target, [source]) == 0
    assert padding_of(target.reshape(-1), [torch.randn(8, 3), source]) == 0
    assert padding_of(rows.t().reshape(-1), [rows.t()]) == 0
    assert padding_of(target, []) is None  # no input that is filled up likewise
    assert padding_of(target, [torch.randint(0, 20, (8, 11))]) is None
    middle = rows.clone()
    middle[0, 1] = 0  # a word like any other
    assert padding_of(middle, [middle]) is None
