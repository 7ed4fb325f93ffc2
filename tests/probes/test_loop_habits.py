"""What loops say about what they measure: read from their source, and only where it is clear."""

import textwrap

import pytest
import torch
from torch import nn

from premortem.detectors.loop_habits import PatienceNeverRestored
from premortem.events import HabitSeen, LogLine, SumReported
from premortem.probes.loop_habits import habits_at, never_read
from premortem.probes.reported_sums import open_sums
from tests.heard import hearing


@pytest.fixture
def read(tmp_path):
    """The file, and the number of the line that `# here` stands on."""
    files = iter(range(100))

    def write(source):
        path = tmp_path / f"train{next(files)}.py"
        text = textwrap.dedent(source)
        path.write_text(text)
        return str(path), 1 + next(i for i, line in enumerate(text.split("\n")) if "# here" in line)

    return write


EVALUATION = """
def evaluate(model, loader):
    total, correct = 0, 0
    for x, y in loader:
        out = model(x)  # here
        {}
        total += len(y)
    return correct / {}
"""


def kinds(place):
    """But for the records, which most loops have."""
    return [habit.kind for habit in habits_at(*place) if not habit.kind.startswith("record")]


def test_the_last_batch_alone(read):
    count = "(out.argmax(1) == y).sum().item()"
    assert kinds(read(EVALUATION.format(f"correct = {count}", "total"))) == ["last batch"]
    assert kinds(read(EVALUATION.format(f"correct += {count}", "total"))) == []
    assert kinds(read(EVALUATION.format(f"correct = {count}; hits.append(correct)", "total"))) == []


def evaluated(each_epoch):
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with hearing() as (heard, _):
        each_epoch(model, optimizer)
    return [event.kind for event in heard if isinstance(event, HabitSeen)]


def trained(model, optimizer):
    optimizer.zero_grad()
    model(torch.randn(4, 2)).square().mean().backward()
    optimizer.step()


@torch.no_grad()
def answers(model, x):
    return model(x).argmax(1)


def test_a_loop_over_the_batches_of_an_evaluation_is_none_over_epochs():
    y = torch.zeros(4)

    def by_batches(model, optimizer):
        for _ in range(3):
            trained(model, optimizer)
        for _ in range(3):
            right = (answers(model, torch.randn(4, 2)) == y).sum().item()
        assert right >= 0

    def by_epochs(model, optimizer):
        for _ in range(6):
            trained(model, optimizer)
            train_right = (answers(model, torch.randn(4, 2)) == y).sum().item()
            right = (answers(model, torch.randn(4, 2)) == y).sum().item()
        assert train_right + right >= 0

    assert evaluated(by_batches) == ["last batch"]
    assert evaluated(by_epochs) == []


def test_samples_divided_by_batches(read):
    count = "(out.argmax(1) == y).sum().item()"
    assert kinds(read(EVALUATION.format(f"correct += {count}", "len(loader)"))) == ["batches for samples"]
    mean = "(out.argmax(1) == y).float().mean().item()"
    assert kinds(read(EVALUATION.format(f"correct += {mean}", "len(loader)"))) == []
    assert kinds(read(EVALUATION.format(f"correct += {count}", "len(loader.dataset)"))) == []


EPOCHS = """
best, bad = 9.0, 0
for epoch in range(9):
    train_loss, val_loss = work()  # here
    if {name} < best_loss:
        best_loss = {name}
        {reset}
    else:
        bad += 1
        if bad >= {limit}:
            break
"""


def test_patience_that_a_record_does_not_restore(read):
    assert kinds(read(EPOCHS.format(name="val_loss", reset="pass", limit="patience"))) == ["patience"]
    assert kinds(read(EPOCHS.format(name="val_loss", reset="bad = 0", limit="patience"))) == []
    assert kinds(read(EPOCHS.format(name="val_loss", reset="pass", limit="most_bad_epochs"))) == []


def test_the_values_that_say_whether_it_has_an_effect():
    best_loss, bad, patience = 9.0, 0, 5
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with hearing() as (heard, _):
        for val_loss in (3.0, 4.0, 2.0, 5.0, 1.0):
            for _ in range(4):
                optimizer.zero_grad()
                model(torch.randn(4, 2)).square().mean().backward()
                optimizer.step()
            with torch.no_grad():
                model(torch.randn(4, 2))
            if val_loss < best_loss:
                best_loss = val_loss
            else:
                bad += 1
                if bad >= patience:
                    break
    followed = [e.values for e in heard if isinstance(e, HabitSeen) and e.kind == "patience"]
    assert followed == [(), (0.0, 9.0), (0.0, 3.0), (1.0, 3.0), (1.0, 2.0), (2.0, 2.0)]
    detector = PatienceNeverRestored()
    assert len([f for e in heard for f in detector.hear(e)]) == 1


def test_a_choice_by_the_training_loss(read):
    assert kinds(read(EPOCHS.format(name="train_loss", reset="bad = 0", limit="patience"))) == ["chosen"]
    only_printed = """
    for epoch in range(9):
        train_loss, val_loss = work()  # here
        if train_loss < best_loss:
            best_loss = train_loss
            print("new best")
    """
    assert kinds(read(only_printed)) == []


def test_a_loop_over_batches_that_is_left_at_once(read):
    loop = """
    def epoch():
        for i in range(0, len(x), 32):
            step(x[i:i + 32])  # here
            {}
    """
    assert kinds(read(loop.format("return 1"))) == ["left at once"]
    assert kinds(read(loop.format("if i > 99: break"))) == []


def test_a_loss_that_nothing_reads(read):
    step = """
    def step(a, b):
        soft = kl(a, b)  # here
        hard = ce(a, b)
        return {}
    """
    assert never_read(*read(step.format("hard"))) == "soft"
    assert never_read(*read(step.format("hard + soft"))) == ""
    shared = step.replace("        soft = kl", "        global soft\n        soft = kl")
    assert never_read(*read(shared.format("hard"))) == "", "another function may read it"


SUMS = """
total, seen = 0.0, 0
losses = []
for epoch in range(9):
    {inside}
    for x, y in loader:
        total += work(x, y)
        losses.append(work(x, y))
        seen += len(x)
    print(epoch, {shown})  # here
"""


def sums(read, shown, inside="pass"):
    return [(each.name, each.growing) for each in open_sums(*read(SUMS.format(inside=inside, shown=shown)))]


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ("total / len(loader)", [("total", False)]),
        ("total / 40", [("total", False)]),
        ("total / seen", [("total", True)]),
        ("sum(losses) / len(losses)", [("losses", True)]),
        ("np.mean(losses)", [("losses", True)]),
        ("np.mean(losses[-40:])", []),
        ("total / (epoch + 1)", []),
        ("total / (time.time() - start)", []),
        ("total / elapsed", []),
        ("total", []),
        ("len(losses)", []),
    ],
)
def test_sums_that_are_never_set_back(read, shown, found):
    assert sums(read, shown) == found


@pytest.mark.parametrize("inside", ["total = 0.0", "total, seen = 0.0, 0", "if epoch: total = 0.0"])
def test_sums_that_are_set_back(read, inside):
    assert sums(read, "total / len(loader)", inside) == []


def test_a_list_that_is_emptied(read):
    assert sums(read, "np.mean(losses)", "losses.clear()") == []


@pytest.mark.parametrize(("text", "heard_of"), [("epoch {} acc {}", 3), ("epoch {} prequential acc {}", 0)])
def test_a_mean_of_all_that_came_so_far_that_says_so(text, heard_of):
    hits = []
    with hearing() as (heard, watcher):
        for epoch in range(3):
            for each in (1.0, 0.0, 1.0):
                hits.append(each + epoch)  # noqa: PERF401 - it is the habit
            watcher._attachment.printed(printed(text, epoch, sum(hits) / len(hits)))
    assert len([event for event in heard if isinstance(event, SumReported)]) == heard_of


def printed(text, epoch, mean):
    values = (("epoch", str(epoch), float(epoch)), ("acc", str(mean), mean))
    return LogLine(step=epoch, text=text.format(epoch, mean), template=text.format("#", "#"), values=values)


RECORD = """
def fit(model, loader, epochs, best_state=None):
    best = 0
    for epoch in range(epochs):
        score = evaluate(model, loader)  # here
        if {}:
            {}
"""


@pytest.mark.parametrize(
    ("test", "body", "kind"),
    [
        ("score < best", "best = score; save(model)", "record low"),
        ("best > score", "best = score; save(model)", "record low"),
        ("score > best", "best, state = score, model.state_dict()", "record high"),
        ("best <= score", "best = max(score, 0); save(model)", "record high"),
        ("score > best", "best = score", None),  # nothing but a number that is printed
        ("score > best", "best = epoch; save(model)", None),  # not what was compared
        ("score != best", "best = score; save(model)", None),
    ],
)
def test_what_is_compared_with_a_record(test, body, kind, read):
    found = habits_at(*read(RECORD.format(test, body)))
    assert [(each.kind, each.name, each.record) for each in found] == (
        [(kind, "score", "best")] if kind else []
    )


def test_a_score_that_is_compared_and_never_printed():
    def epochs(model, optimizer):
        best, kept = -1.0, None
        for epoch in range(4):
            trained(model, optimizer)
            with torch.no_grad():
                out = model.eval()(torch.randn(8, 2))
                score = (out / torch.tensor([[0.0, 1.0]])).mean().item() * (1 if epoch else float("nan"))
            if score > best:
                best, kept = score, model.state_dict()
            model.train()
        return kept

    model = nn.Linear(2, 2)
    with hearing() as (heard, _):
        epochs(model, torch.optim.SGD(model.parameters(), lr=0.1))
    held = [event for event in heard if isinstance(event, HabitSeen) and event.kind == "record high"]
    assert [event.other for event in held] == ["best"] * len(held)
    assert len([event for event in held if event.values]) == 3
