import textwrap

import pytest
import torch
from torch import nn

from premortem.events import OptimizerStep, Site
from premortem.probes import optimizers, source
from premortem.probes.session import is_user_code
from premortem.probes.source import lines_calling, under_modulo
from tests.heard import hearing

SCRIPT = """
def plain(loader):
    for i, batch in enumerate(loader):
        backward(batch)
        step()  # no

def every_kth(loader, k):
    for i, batch in enumerate(loader):
        backward(batch)
        if (i + 1) % k == 0 or i + 1 == len(loader):
            step()  # yes

def named(loader, k):
    for i, batch in enumerate(loader):
        last = (i + 1) % k == 0
        backward(batch)
        if last:
            step()  # yes

def guarded(loader, k):
    for i, batch in enumerate(loader):
        backward(batch)
        if (i + 1) % k:
            continue
        step()  # yes

def talking(loader):
    for i, batch in enumerate(loader):
        if batch is None:
            print("batch %d is empty" % i)
        step()  # no

def logging(loader):
    for i, batch in enumerate(loader):
        if i % 100 == 0:
            print(i)
        step()  # no
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(SCRIPT))
    return path


def test_a_step_under_a_remainder_is_one_that_waits(script):
    lines = script.read_text().splitlines()
    marked = {number: "# yes" in text for number, text in enumerate(lines, 1) if "step()" in text}
    assert {number: under_modulo(Site(str(script), number)) for number in marked} == marked


@pytest.mark.parametrize("content", ["def broken(:\n", ""])
def test_a_source_that_cannot_be_read_says_nothing(tmp_path, content):
    path = tmp_path / "notebook.py"
    path.write_text(content)
    assert not under_modulo(Site(str(path), 1))
    assert not under_modulo(Site(str(tmp_path / "gone.py"), 1))
    assert not under_modulo(None)


def test_packages_of_another_place_are_not_the_users_own():
    for folder in ("/home/me/.local/lib/python3.11/site-packages", "/usr/lib/python3/dist-packages"):
        assert not is_user_code(f"{folder}/timm/models.py")
    assert is_user_code("/home/me/packages/train.py")


def test_a_file_that_does_not_name_the_operation_is_not_parsed_for_it(tmp_path, monkeypatch):
    file = tmp_path / "train.py"
    file.write_text("y = x.log()\nz = a / b\n")
    parsed = []
    monkeypatch.setattr(
        source, "tree_of", lambda each, really=source.tree_of: parsed.append(each) or really(each)
    )
    assert lines_calling("sqrt", str(file)) == lines_calling("pow", str(file)) == ()
    assert parsed == []
    assert (lines_calling("log", str(file)), lines_calling("div", str(file))) == ((1,), (2,))
    assert parsed == [str(file)]


def test_a_line_under_no_grad_makes_nothing_with_a_graph(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(
        "loss = x[pick].mean()\n"
        "with torch.no_grad():\n    score = x.mean()\n"
        "@torch.inference_mode()\ndef judge(x):\n    return x.mean()\n"
    )
    assert lines_calling("mean", str(file)) == (1,)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ('def adjust(optimizer, lr):\n    optimizer.param_groups[0]["lr"] = lr\n', 0),
        ('optimizer.param_groups[-1]["lr"] *= 0.9\nfor g in optimizer.param_groups: print(g["lr"])\n', -1),
        (
            'self.optimizer.param_groups[0]["lr"] = lr\nprint(len(a.param_groups), a.param_groups[0]["lr"])\n',
            0,
        ),
        ('o.param_groups[0]["lr"] = lr\no.param_groups[1]["lr"] = 10 * lr\n', None),
        ('o.param_groups[0]["lr"] = lr\nassert o.param_groups[1]["lr"] == 0.1\n', None),
        ('o.param_groups[0]["lr"] = lr\nfor g in o.param_groups[1:]:\n    g["lr"] = 10 * lr\n', None),
        ('o.param_groups[0]["lr"] = lr\nfor i in range(2):\n    print(o.param_groups[i])\n', None),
        ('o.param_groups[0]["lr"] = lr\nhead["lr"] = 10 * lr\n', None),
        ('o.param_groups[0]["lr"] = lr\nhead.update(lr=10 * lr)\n', None),
        ('o.param_groups[0]["lr"] = lr\nhead.update({"lr": 10 * lr})\n', None),
        ('o.param_groups[0]["lr"] = lr\nbody, head = o.param_groups\n', None),
        ('for g in o.param_groups:\n    g["lr"] = lr\n', None),
        ("print(o.param_groups[0])\n", None),
    ],
)
def test_the_line_that_writes_the_rate_of_one_group(tmp_path, text, number):
    path = tmp_path / "train.py"
    path.write_text(text)
    found = source.line_of_one_group([str(path)])
    assert (None if found is None else found[1]) == number
    if found is not None:
        assert text.splitlines()[found[0].line - 1].strip().startswith(("opt", "self"))


@pytest.mark.parametrize("groups", [(0,), (1,), (0, 1), ()])
def test_a_step_says_which_line_moves_the_rate_of_a_single_group(tmp_path, monkeypatch, groups):
    path = tmp_path / "train.py"
    path.write_text('optimizer.param_groups[0]["lr"] = lr\n')
    monkeypatch.setattr(optimizers, "user_files", lambda: [str(path)])
    body, head = nn.Linear(4, 8), nn.Linear(8, 3)
    optimizer = torch.optim.SGD([{"params": body.parameters()}, {"params": head.parameters()}], lr=0.1)
    with hearing() as (heard, _):
        for step in range(3):
            for group in groups:
                optimizer.param_groups[group]["lr"] = 0.1 - 0.01 * step
            optimizer.zero_grad()
            head(body(torch.randn(2, 4))).sum().backward()
            optimizer.step()
    line = Site(str(path), 1) if groups == (0,) else None
    steps = [event for event in heard if isinstance(event, OptimizerStep)]
    assert [event.one_group for event in steps] == [None, line, line]
