"""The edit of a change, made in the source, is the same training as the change put on."""

import pytest

from premortem import changes
from premortem.changes import RunDescription
from premortem.changes.reach import Reach
from premortem.lint.diagnostics import edited
from premortem.lint.source import Source

SCRIPT = """
import torch
from torch import nn
from torch.optim import SGD, AdamW as Optimizer
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
for p in model[0].parameters():
    p.requires_grad = False
model[2].bias.requires_grad_(False)
optimizer = Optimizer(model.parameters(), lr=1e-2, eps=1e-12, weight_decay=0.5)
other = SGD([torch.zeros(2, requires_grad=True)], 0.5)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
for step in range(6):
    x = torch.randn(8, 4)
    with torch.autocast("cpu", torch.bfloat16):
        out = model(x)
    loss = nn.functional.cross_entropy(out.float(), (x[:, 0] > 0).long())
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    clip_grad_norm_(model.parameters(), max_norm=0.01)
    nn.utils.clip_grad_value_(model.parameters(), 0.001)
    optimizer.step()
    schedule.step()
held = [p.detach().tolist() for p in model.parameters()], optimizer.param_groups[0]["foreach"], optimizer.param_groups[0]["fused"]
"""
WITH_EDITS = [cls for cls in changes.ALL if cls.edit is not None]


def run(code):
    names = {"__name__": "train"}
    exec(compile(code, "train.py", "exec"), names)
    return names["held"]


@pytest.mark.parametrize("cls", WITH_EDITS, ids=lambda cls: cls.name)
def test_the_edited_script_is_the_changed_one(cls):
    new = edited(SCRIPT.encode(), cls.edit(Source("train.py", SCRIPT.encode())).edits)
    with cls(Reach(), RunDescription(device="cpu")).on():
        changed = run(SCRIPT)
    if cls.name == "fused-optimizer":  # which of two kernels is not the question when one of them is chosen
        assert run(new)[0] == changed[0]
    elif cls.name == "set-to-none":
        assert b"zero_grad()" in new
    else:
        assert run(new) == changed
        assert run(SCRIPT) != changed
    assert run(new) == run(new)


def test_there_are_edits():
    assert {cls.name for cls in WITH_EDITS} == {
        *("unfrozen", "rate-times-ten", "rate-tenth", "float32", "set-to-none", "fused-optimizer"),
        *(
            "foreach-false",
            "epsilon",
            "no-clipping",
            "no-weight-decay",
            "rate-times-hundred",
            "rate-hundredth",
            "rate-constant",
        ),
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Trainer(gradient_clip_val=1e-4)", "Trainer(gradient_clip_val=1.0)"),
        (
            "CLIP = 1e-3\naccelerator.clip_grad_norm_(ps, CLIP)",
            "CLIP = 1.0\naccelerator.clip_grad_norm_(ps, CLIP)",
        ),
        ("accelerator.clip_grad_norm_(ps, limit())", None),
    ],
)
def test_a_threshold_is_found_where_frameworks_are_given_it(before, after):
    fix = changes.of("learning")["no-clipping"].edit(Source("train.py", before.encode()))
    assert (edited(before.encode(), fix.edits).decode() if fix else None) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("for b in d:\n    o.step()\n    s.step()\nenv.step()\n", "for b in d:\n    o.step()\nenv.step()\n"),
        ("for b in d:\n    s.step()\nx = 1", "for b in d:\n    pass\nx = 1"),
        ("o.step(); s.step()", "o.step(); pass"),
        ("s.step()", ""),
    ],
)
def test_only_the_steps_of_schedulers_are_left_out(before, after):
    head = "import torch\ns = torch.optim.lr_scheduler.StepLR(o, 1)\n"
    data = (head + before).encode()
    fix = changes.of("learning")["rate-constant"].edit(Source("train.py", data))
    assert edited(data, fix.edits).decode() == head + after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LR = 1e-3\nSGD(ps, lr=LR)", "LR = 0.01\nSGD(ps, lr=LR)"),
        ("def f(lr=2):\n    SGD(ps, lr=lr)", "def f(lr=20):\n    SGD(ps, lr=lr)"),
        (
            "def f(self, rate=2):\n    self.lr = rate\nSGD(ps, lr=m.lr)",
            "def f(self, rate=20):\n    self.lr = rate\nSGD(ps, lr=m.lr)",
        ),
        ('c = {"rate": 0.5}\nSGD(ps, lr=c["rate"])', 'c = {"rate": 5}\nSGD(ps, lr=c["rate"])'),
        (
            'p.add_argument("--base-lr", default=0.1)\nSGD(ps, lr=a.base_lr)',
            'p.add_argument("--base-lr", default=1)\nSGD(ps, lr=a.base_lr)',
        ),
        (
            "class C:\n    lr: float = 0.2\nSGD(ps, lr=C().lr)",
            "class C:\n    lr: float = 2\nSGD(ps, lr=C().lr)",
        ),
    ],
)
def test_a_number_is_changed_where_it_stands(before, after):
    source = Source("train.py", f"from torch.optim import SGD\n{before}\n".encode())
    fix = changes.of("learning")["rate-times-ten"].edit(source)
    assert edited(source.data, fix.edits).decode() == f"from torch.optim import SGD\n{after}\n"


def test_what_may_be_one_of_two_numbers_is_left_alone():
    source = Source("train.py", b"from torch.optim import SGD\nr = 1.0\nr = 2.0\nSGD(ps, lr=r)\n")
    assert changes.of("learning")["rate-times-ten"].edit(source) is None


def test_what_is_no_number_is_left_alone():
    source = Source("train.py", b"import torch\no = torch.optim.SGD(ps, lr=rate)\nSGD(ps, 1)\n")
    assert changes.of("learning")["rate-times-ten"].edit(source) is None
