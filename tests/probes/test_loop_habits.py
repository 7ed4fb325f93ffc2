"""What loops say about what they measure: read from their source, and only where it is clear."""

import textwrap

import pytest

from premortem.probes.loop_habits import habits_at, never_read
from premortem.probes.reported_sums import open_sums


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
    return [habit.kind for habit in habits_at(*place)]


def test_the_last_batch_alone(read):
    count = "(out.argmax(1) == y).sum().item()"
    assert kinds(read(EVALUATION.format(f"correct = {count}", "total"))) == ["last batch"]
    assert kinds(read(EVALUATION.format(f"correct += {count}", "total"))) == []
    assert kinds(read(EVALUATION.format(f"correct = {count}; hits.append(correct)", "total"))) == []


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


def test_a_choice_by_the_training_loss(read):
    assert kinds(read(EPOCHS.format(name="train_loss", reset="bad = 0", limit="patience"))) == ["chosen"]


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
