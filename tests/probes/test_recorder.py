"""The recorder: cheap in cruise, keeps no graph alive, and remembers the step as it was before it began."""

import gc
import random
import sys
import weakref

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from premortem.probes import Attachment, generators


@pytest.fixture
def attachment():
    faults = []
    made = Attachment(lambda _event: None, lambda unit, error: faults.append((unit, error)))
    yield made
    made.detach()
    assert faults == []


def train(steps, *, loader=True, before_step=None):
    model = nn.Sequential(
        *[nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6)) for _ in range(5)], nn.Linear(6, 2)
    )
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x, y = torch.randn(steps * 8, 6), torch.randint(0, 2, (steps * 8,))
    slices = [(x[i : i + 8], y[i : i + 8]) for i in range(0, steps * 8, 8)]
    for number, (given, wanted) in enumerate(DataLoader(TensorDataset(x, y), 8) if loader else slices, 1):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(given), wanted)
        loss.backward()
        if before_step is not None:
            before_step(number, model, given, wanted)
        optimizer.step()
    return model, optimizer


@pytest.mark.parametrize("loader", [True, False])
def test_a_cruising_step_runs_few_lines_of_it(attachment, loader):
    counts: dict[int, int] = {}
    step = 0

    def count(frame, event, _argument):
        if event == "line":
            counts[step] = counts.get(step, 0) + 1
        return count

    def trace(frame, _event, _argument):
        return count if frame.f_code.co_filename.endswith("/recorder.py") else None

    def before_step(number, *_):
        nonlocal step
        step = number
        if number == 40:
            sys.settrace(trace)

    try:
        train(60, loader=loader, before_step=before_step)
    finally:
        sys.settrace(None)
    cruise = [counts[number] for number in range(41, 60)]
    assert 0 < max(cruise) < 64, cruise


def test_buffers_are_those_of_before_the_forward_pass(attachment):
    seen = {}

    def before_step(number, model, *_):
        if number == 12:
            window = attachment.recorder.window_of(12)
            seen.update(
                zip((name for _, name in window.buffers), (c.clone() for c in window.copies), strict=True)
            )
            seen["now"] = model[0][1].running_mean.clone()
        if number == 11:
            seen["before"] = model[0][1].running_mean.clone()

    train(12, before_step=before_step)
    assert torch.equal(seen["0.1.running_mean"], seen["before"])
    assert not torch.equal(seen["0.1.running_mean"], seen["now"])
    assert int(seen["0.1.num_batches_tracked"]) == 11


def test_a_teacher_that_follows_is_kept_as_it_was_before(attachment):
    student, teacher = nn.Linear(3, 3), nn.Linear(3, 3)
    optimizer = torch.optim.SGD(student.parameters(), 0.1)
    for _ in range(12):
        with torch.no_grad():
            goal = teacher(torch.randn(4, 3))
        nn.functional.mse_loss(student(torch.randn(4, 3)), goal).backward()
        optimizer.step()
        before = teacher.weight.detach().clone()
        with torch.no_grad():
            teacher.weight.lerp_(student.weight, 0.1)
    window = attachment.recorder.window
    copies = dict(zip([name for _, name in window.buffers], window.copies, strict=True))
    assert torch.equal(copies["weight"], before)
    assert not torch.equal(copies["weight"], teacher.weight)


def test_a_buffer_that_breaks_is_told_before_the_step_and_one_that_began_so_is_not(attachment):
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    model.register_buffer("lowest", torch.full((2,), float("inf")))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    heard = []
    attachment.recorder.broken.append(
        lambda _optimizer, track, name, value: heard.append((track.steps, name))
    )
    for number in range(14):
        model.lowest += 1
        loss = model(torch.randn(8, 3)).mean()
        if number == 12:
            with torch.no_grad():
                model(torch.randn(8, 3) * 1e25)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert [(steps, name[1]) for steps, name in heard] == [(12, "1.running_var")]


def test_the_batch_of_the_step_is_kept_and_the_older_ones_are_not(attachment):
    references = []

    def before_step(number, model, given, wanted):
        references.append(weakref.ref(given))
        draws = attachment.recorder.draws_of(key, number)
        assert [draw.batch[0] is given for draw in draws] == [True]

    key = 1
    train(20, before_step=before_step)
    gc.collect()
    assert sum(reference() is not None for reference in references) <= 3


def test_without_a_loader_inputs_and_targets_are_kept(attachment):
    def before_step(number, model, given, wanted):
        window = attachment.recorder.window_of(number)
        assert [call.tensors[0] is given for call in window.calls] == [True]
        assert torch.equal(window.targets[0], wanted)

    train(10, loader=False, before_step=before_step)


def test_no_graph_is_kept_alive(attachment):
    generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*generator.parameters(), *critic.parameters()], 0.1)
    graphs = []
    for _ in range(12):
        fake = generator(torch.randn(8, 4))
        graphs.append(weakref.ref(fake))
        optimizer.zero_grad()
        critic(fake).mean().backward()
        optimizer.step()
        del fake
    gc.collect()
    # The first is in the variables of this function, as the names of the models were looked up there.
    assert [graph() for graph in graphs[1:]] == [None] * 11


def test_random_states_can_be_put_back(attachment):
    state = attachment.recorder.generators.now()
    drawn = (torch.rand(3), random.random(), np.random.rand(3))  # noqa: NPY002
    torch.default_generator.set_state(state.torch)
    random.setstate(state.python.state)
    words = np.frombuffer(state.numpy[:-4], dtype=np.uint32)
    place = int.from_bytes(state.numpy[-4:], sys.byteorder)
    np.random.set_state(("MT19937", words, place, 0, 0.0))  # noqa: NPY002
    assert torch.equal(torch.rand(3), drawn[0])
    assert random.random() == drawn[1]
    assert np.array_equal(np.random.rand(3), drawn[2])  # noqa: NPY002


def test_a_generator_that_was_drawn_from_or_seeded_is_read_again():
    asked = generators.Generators()

    def agrees():
        state, (_, words, place, *_) = asked.now(), np.random.get_state()  # noqa: NPY002
        now = np.frombuffer(state.numpy, dtype=np.uint32)
        return state.python.state == random.getstate() and now.tolist() == [*words.tolist(), place]

    assert agrees()
    assert asked.now().numpy is asked.now().numpy, "copied once while nobody draws"
    for seed in (1, 2):
        random.seed(seed), np.random.seed(seed)  # noqa: NPY002
        assert agrees()
    random.random(), np.random.rand()  # noqa: NPY002
    assert agrees()
    for _ in range(624):  # around the words, to the same position
        random.getrandbits(32), np.random.bytes(4)  # noqa: NPY002
    assert agrees()


def test_a_generator_whose_memory_is_not_as_expected_is_asked(monkeypatch):
    monkeypatch.setattr(generators, "_WORDS", 3)
    monkeypatch.setattr(generators, "_BYTES", 16)
    random.gauss(0, 1)
    state = generators.Generators().now()
    assert state.python.raw is None
    assert state.python.state == random.getstate()
