"""A loss of the training, row by row: orders, rivals, arrays and promises are found number for number."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from premortem.events import Ends, RowsCompared
from premortem.probes.compared_rows import copies, crossed, ends_of, itself, order_of
from premortem.probes.held_out_rows import held_out
from premortem.probes.promises import promise_of
from premortem.probes.row_origins import Arrays, strangers_among
from tests.heard import hearing


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


# --- orders -----------------------------------------------------------------------------------


def test_order_of_flat_rows():
    scores = numbers(4, 6, 5)
    assert order_of(scores.reshape(-1, 5), scores) == "straight"
    assert order_of(scores.transpose(0, 1).reshape(-1, 5), scores) == "turned"
    assert order_of(numbers(24, 5, seed=1), scores) == ""
    assert order_of(torch.zeros(24, 5), torch.zeros(4, 6, 5)) == "", "either would do"


# --- similarities -----------------------------------------------------------------------------


def similar(same=False):
    first = torch.nn.functional.normalize(numbers(8, 16), dim=1)
    second = first if same else torch.nn.functional.normalize(numbers(8, 16, seed=1), dim=1)
    both = torch.cat([first, second])
    return both @ both.T / 0.3, torch.cat([torch.arange(8, 16), torch.arange(8)])


def test_a_row_is_its_own_rival():
    scores, other = similar()
    assert itself(scores, other) == "rival"
    assert itself(scores, torch.arange(16)) == "answer"


def test_a_masked_diagonal_is_no_rival():
    scores, other = similar()
    for mask in (float("-inf"), -1e9):
        assert itself(scores.clone().fill_diagonal_(mask), other) == ""


def test_two_views_that_are_one():
    scores, other = similar(same=True)
    assert itself(scores.fill_diagonal_(float("-inf")), other) == "twin"


def test_two_encoders_are_compared_with_each_other():
    assert itself(numbers(16, 16), torch.arange(16)) == ""


# --- probabilities ----------------------------------------------------------------------------


def test_probabilities_over_different_dimensions():
    scores, targets = numbers(12, 5).log_softmax(1), numbers(12, 5, seed=1)
    assert crossed(scores, targets.softmax(0)) == (1, 0)
    assert crossed(scores, targets.softmax(1)) is None
    assert crossed(scores, targets) is None


# --- the end of a sequence ---------------------------------------------------------------------


def sentences(*lengths, end=True, filler=2):
    """Words from 5 on, the end 2, and what fills them up."""
    made = [[*(5 + at for at in range(length)), *([2] if end else [])] for length in lengths]
    longest = max(map(len, made))
    return torch.tensor([row + [filler] * (longest - len(row)) for row in made])


def hidden(ids, token):
    return ids.masked_fill(ids == token, -100)


def test_an_end_that_never_counts():
    ids = sentences(9, 5, 7, 3)
    assert ends_of(ids, hidden(ids, 2)[:, 1:].reshape(-1), -100) == Ends(2, 10, 4 + 4 + 2 + 6, 0)
    assert ends_of(ids, ids[:, 1:].reshape(-1), 2) == Ends(2, 10, 16, 0)
    shifted = torch.cat([hidden(ids, 2)[:, 1:], torch.full((4, 1), -100)], 1)
    assert ends_of(ids, shifted.reshape(-1), -100) == Ends(2, 10, 16, 0)
    first = ids[:, 1:].masked_fill((ids == 2)[:, :-1], -100)  # only what stands behind an end
    assert ends_of(ids, first.reshape(-1), -100) == Ends(2, 10, 16, 4)


def test_padding_that_is_no_end():
    own = sentences(9, 5, 7, 3, filler=0)
    assert ends_of(own, hidden(own, 0)[:, 1:].reshape(-1), -100) is None
    words = sentences(9, 5, 7, 3, end=False, filler=0)  # names that never end
    assert ends_of(words, hidden(words, 0)[:, 1:].reshape(-1), -100) is None
    rolled = torch.cat([hidden(words, 0)[:, 1:], torch.full((4, 1), -100)], 1)
    assert ends_of(words, rolled.reshape(-1), -100) is None
    tags = sentences(9, 5, 7, 3)
    assert ends_of(tags, (tags[:, 1:] + 1).reshape(-1), -100) is None  # the targets are other things


# --- copies in a batch ------------------------------------------------------------------------


def test_rows_that_stand_in_a_batch_several_times():
    x, y = numbers(4, 3).repeat(4, 1), numbers(4, seed=1).repeat(4)
    marks = copies([x], x @ numbers(3, 1), y)
    assert len(set(marks)) == 4
    assert marks == copies([x], x @ numbers(3, 1), y)
    assert copies([x, numbers(16, 2)], x, y) == ()  # another input tells them apart
    assert copies([x], x, numbers(16, seed=1)) == ()  # the targets do
    assert copies([x], x + 1e-2 * numbers(16, 3, seed=2), y) == ()  # the model draws noise
    assert copies([torch.cat([x[:15], numbers(1, 3, seed=3)])], x, y) == ()  # one row stands there once
    assert copies([torch.arange(16)], x, y) is None
    assert copies([x[:6]], x[:6], y[:6]) is None


# --- rows of arrays ---------------------------------------------------------------------------


def found(x, y, inputs, targets):
    return strangers_among(inputs, targets, Arrays().of([{"x": x, "y": y}], len(targets)))


def test_targets_of_other_rows():
    x, y, order = numbers(200, 3), numbers(200, seed=1), torch.randperm(200)
    strangers, paired = found(x, y, x[order[:32]], y[:32])
    assert strangers is not None
    assert not paired
    assert (strangers.inputs, strangers.targets, strangers.target_row) == ("x", "y", 0)
    assert strangers.input_row == order[0]


def test_targets_of_the_same_rows():
    x, y, order = numbers(200, 3), numbers(200, seed=1), torch.randperm(200)
    assert found(x, y, x[order[:32]], y[order[:32]]) == (None, True)


def test_a_forecast_is_always_as_many_rows_ahead():
    x = numbers(200, 3)
    y, order = x[:, 0].clone(), torch.randperm(190)
    assert found(x, y, x[order[:32]], y[order[:32] + 1]) == (None, False)


def test_classes_stand_in_many_rows():
    x, y = numbers(200, 3), torch.arange(200) % 3
    assert found(x, y, x[:32], y[40:72]) == (None, False)


# --- masks ------------------------------------------------------------------------------------


def masks():
    parts = torch.randperm(90, generator=torch.Generator().manual_seed(2)) % 3
    y = torch.arange(90) * 7 % 5
    return y, {"train_mask": parts == 0, "val_mask": parts == 1, "test_mask": parts == 2, "y": y}


def test_rows_that_a_mask_sets_apart():
    y, own = masks()
    assert held_out(y, [own]) == ("val_mask", 30)
    assert held_out(y[own["test_mask"]], [own]) == ("test_mask", 30)
    assert held_out(y[own["train_mask"]], [own]) is None


def test_a_mask_inside_of_an_object():
    y, own = masks()
    data = type("Data", (), {})()
    vars(data).update(own)
    assert held_out(y, [{"data": data}]) == ("data.val_mask", 30)


# --- promises ---------------------------------------------------------------------------------


def promise(target, best=(), **named):
    return promise_of(target, list(named.items()), list(best))


def test_what_a_target_of_q_learning_is_made_of():
    r, q = numbers(32), numbers(32, seed=1)
    done = (torch.arange(32) % 9 == 0).float()
    held = {"r": r, "q_next": q, "done": done}
    assert promise(r + 0.9 * q * (1 - done), **held).counted == "going on"
    ignored = promise(r + 0.9 * q, **held)
    assert (ignored.counted, ignored.ended, ignored.flag) == ("all", 4, "done")
    assert abs(ignored.factor - 0.9) < 1e-4
    assert promise(r + 0.9 * q * done, **held).counted == "ended"
    assert promise(r + 0.9 * q.max() * (1 - done), best=[q], **held).counted == "one for all"
    assert promise(0.9 * q * (1 - done), best=[q], **held).reward == ""


def test_what_is_no_promise():
    r, q = numbers(32), numbers(32, seed=1)
    assert promise(numbers(32, seed=2), r=r, q_next=q) is None
    assert promise(r + 0.1 * q, r=r, q_next=q) is None, "no discount is as small as that"
    assert promise(r + 0.9 * q, x=r, q_next=q) is None, "nothing has the name of a reward"


def test_a_flag_that_is_usually_on_says_that_it_goes_on():
    r, q = numbers(32), numbers(32, seed=1)
    alive = (torch.arange(32) % 9 != 0).float()
    assert promise(r + 0.9 * q * alive, r=r, q_next=q, d=alive) is None


# --- answers ----------------------------------------------------------------------------------


def net():
    return torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 3))


def heard_of(model, teacher, path, loads):
    with hearing() as (heard, _):
        loads(model, teacher, path)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            x, y = numbers(20, 4), torch.arange(20) % 3
            with torch.no_grad():
                teacher(x)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            with torch.no_grad():
                for mean, now in zip(teacher.parameters(), model.parameters(), strict=True):
                    if loads is follows:
                        mean.lerp_(now, 0.1)
    return [event for event in heard if isinstance(event, RowsCompared)]


def teacher_from_file(model, teacher, path):
    teacher.load_state_dict(torch.load(path))


def follows(model, teacher, path):
    teacher_from_file(model, teacher, path)


def copied(model, teacher, path):
    teacher.load_state_dict({name: value.clone() for name, value in model.state_dict().items()})


def model_from_file(model, teacher, path):
    model.load_state_dict(torch.load(path))


def new_head(model, teacher, path):
    model_from_file(model, teacher, path)
    model[2] = torch.nn.Linear(6, 3)


def head_set_anew(model, teacher, path):
    model_from_file(model, teacher, path)
    model[2].reset_parameters()


@pytest.mark.parametrize(
    ("loads", "guided", "answered"),
    [
        (teacher_from_file, 3, 0),
        (follows, 1, 0),
        (copied, 0, 0),
        (model_from_file, 0, 3),
        (new_head, 0, 0),
        (head_set_anew, 0, 0),
    ],
)
def test_only_models_from_files_are_judged_by_their_answers(tmp_path, loads, guided, answered):
    torch.save(net().state_dict(), tmp_path / "net.pt")
    events = heard_of(net(), net(), tmp_path / "net.pt", loads)
    assert len(events) == 3
    assert sum(bool(event.guided) for event in events) == guided
    assert sum(bool(event.answered) for event in events) == answered
    assert {event.guide for event in events if event.guided} <= {"teacher"}


@pytest.mark.parametrize(("by_the_data", "by_the_loss"), [(1, 0), (1, 1), (0, 1), (0, 2), (2, 0)])
def test_how_far_ahead_and_who_shifted(by_the_data, by_the_loss):
    model = torch.nn.Sequential(torch.nn.Embedding(30, 8), torch.nn.Linear(8, 30))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    tokens = torch.randint(0, 30, (4, 24), generator=torch.Generator().manual_seed(0))
    x, y = tokens[:, : 24 - by_the_data], tokens[:, by_the_data:]
    with hearing() as (heard, _):
        output = model(x)
        scores, y = output[:, : output.shape[1] - by_the_loss], y[:, by_the_loss:]
        torch.nn.functional.cross_entropy(scores.reshape(-1, 30), y.reshape(-1)).backward()
        optimizer.step()
    (event,) = [event for event in heard if isinstance(event, RowsCompared)]
    assert (event.ahead, event.cut) == (by_the_data + by_the_loss, by_the_loss)


def learn(next_is_another: bool, double: bool) -> list[RowsCompared]:
    """Q-learning, whose next value is the best of a second network, or what that one gives to the choice of the first."""
    torch.manual_seed(0)
    with hearing() as (heard, _):
        net, target = nn.Linear(3, 4), nn.Linear(3, 4)
        optimizer = torch.optim.SGD(net.parameters(), 1e-2)
        for _ in range(3):
            o, r = torch.randn(16, 3), torch.randn(16)
            o2 = torch.randn(16, 3) if next_is_another else o.clone()
            with torch.no_grad():
                values = target(o2) if not double else None
                best = net(o2).argmax(1, keepdim=True) if double else values.argmax(1, keepdim=True)
                y = r + 0.9 * (target(o2) if double else values).gather(1, best).squeeze(1)
            loss = functional.smooth_l1_loss(net(o)[:, 0], y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return [event for event in heard if isinstance(event, RowsCompared)]


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("next_is_another", [False, True])
def test_the_next_value_of_the_state_itself(next_is_another: bool, double: bool) -> None:
    events = learn(next_is_another, double)
    assert events
    for event in events:
        assert event.promise is not None
        assert event.promise.factor == pytest.approx(0.9)
        assert event.promise.same_state is not next_is_another
