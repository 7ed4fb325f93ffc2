"""The edit that removes the cause of a finding, where lint has no report about it."""

import pytest

from premortem.changes import patches
from premortem.findings import Certainty, Finding, Severity, Where


def finding(name="non-finite-training", line=1, **evidence):
    return Finding(
        code="PM442",
        name=name,
        family="numerics-nan",
        severity=Severity.ERROR,
        certainty=Certainty.PROVED,
        step=1,
        message="",
        where=Where(file="train.py", line=line),
        evidence=evidence,
    )


def broken(op, *ranges, dtype="float32"):
    held = [{"name": "self", "dtype": dtype, "shape": [4], "low": low, "high": high} for low, high in ranges]
    return finding(op=op, operands=held, stage="forward", dtype=dtype)


def changed(found, text):
    patch = patches.of(found, text)
    return [line for line in patch.diff.splitlines()[2:] if line[0] in "+-"] if patch is not None else None


@pytest.mark.parametrize(
    ("found", "text", "after"),
    [
        (broken("div", (-1, 1), (0, 4)), "y = x / norm(x)", "y = x / norm(x).clamp(min=1e-8)"),
        (broken("div", (-1, 1), (0, 4)), "y = x / (a + b)", "y = x / (a + b).clamp(min=1e-8)"),
        (broken("log", (0, 1)), "y = -torch.log(p).mean()", "y = -torch.log(p.clamp(min=1e-8)).mean()"),
        (broken("sqrt", (0, 1), dtype="float16"), "y = v.sqrt()", "y = v.clamp(min=1e-4).sqrt()"),
        (broken("log1p", (-1, 0)), "y = torch.log1p(-p)", "y = torch.log1p((-p).clamp(min=-1 + 1e-6))"),
        (broken("log", (0, 2)), "y = torch.log(1 - p)", "y = torch.log((1 - p).clamp(min=1e-8))"),
    ],
)
def test_an_operand_that_reaches_0_is_kept_from_it(found, text, after):
    assert changed(found, f"{text}\n") == [f"-{text}", f"+{after}"]


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (broken("div", (-1, 1), (-2, 4)), "y = x / d"),  # which side should a small divisor go to?
        (broken("log", (-1, 1)), "y = torch.log(p)"),  # below 0 the number itself is wrong
        (broken("exp", (0, 900)), "y = torch.exp(x)"),
        (broken("div", (-1, 1), (0, 4)), "y = a / b + c / d"),
        (broken("div", (-1, 1), (0, 4)), "y = x / 0.0"),
        (broken("log", (0, 1)), "y = torch.log(p"),
    ],
)
def test_nothing_is_proposed_where_a_guard_would_hide_another_mistake(found, text):
    assert changed(found, f"{text}\n") is None


RATE = "import torch\noptimizer = torch.optim.SGD(model.parameters(), lr=5.0)\n"


def test_the_change_that_undoes_a_finding_is_proposed_as_its_edit():
    assert changed(finding("updates-too-large", 2), RATE)[1].startswith(
        "+optimizer = torch.optim.SGD(model.parameters(), lr=0.5"
    )


def test_where_several_places_could_be_meant_nothing_is_proposed():
    assert changed(finding("updates-too-large", 2), RATE + RATE.replace("optimizer", "other")) is None
    assert changed(finding("no-such-diagnosis", 2), RATE) is None


OPTION = """\
import argparse, torch
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
args = parser.parse_args()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
"""


def test_a_default_that_was_not_in_use_is_not_proposed():
    assert changed(finding("updates-too-large", 5, rate=30.0), OPTION) is None  # --lr 30
    assert changed(finding("updates-too-large", 5, rate=0.01), OPTION) == [
        '-parser.add_argument("--lr", type=float, default=0.01)',
        '+parser.add_argument("--lr", type=float, default=0.001)',
    ]
