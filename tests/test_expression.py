"""Which expression of a line is marked on a card."""

import pytest

from premortem.derived.expression import marked
from premortem.findings import Certainty, Finding, Severity, Where


def finding(message="", line=1, **evidence):
    return Finding(
        code="PM442",
        name="x",
        family="numerics-nan",
        severity=Severity.ERROR,
        certainty=Certainty.PROVED,
        step=1,
        message=message,
        where=Where(file="train.py", line=line),
        evidence=evidence,
    )


@pytest.mark.parametrize(
    ("text", "said", "shown"),
    [
        ("loss = error + torch.log(error * 0)", {"op": "log"}, "torch.log(error * 0)"),
        ("loss = x.clamp(0).log_().mean()", {"op": "log"}, "x.clamp(0).log_()"),
        ("y = a / b + c", {"op": "div"}, "a / b"),
        ("name = 'ünïcödé'; y = torch.acos(x)", {"op": "acos"}, "torch.acos(x)"),
        (
            "clip_grad_norm_(params, 1e-3)",
            {"message": "`clip_grad_norm_` is"},
            "clip_grad_norm_(params, 1e-3)",
        ),
        ("model.head = nn.Linear(64, 5)", {"message": "`model.head.weight` gets no step"}, "model.head"),
        ("x.to(device)", {"message": "`x.to(device)` is dropped"}, "x.to(device)"),
    ],
)
def test_the_expression_that_is_named(text, said, shown):
    found = marked(finding(**said), text)
    assert text[found.start : found.end] == shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y = torch.log(a) + torch.log(b)", {"op": "log"}),  # which of the two?
        ("y = model(x)", {"op": "log"}),
        ("y = model(x", {"op": "model"}),  # edited since
        ("model.headless = 1", {"message": "`model.head.weight`"}),
        ("y = f(\n    torch.log(x)\n)", {"message": "`f`"}),  # it goes over several lines
        ("", {"op": "log"}),
    ],
)
def test_nothing_is_marked_when_it_is_not_sure(text, said):
    assert marked(finding(**said), text) is None


def test_of_two_that_stand_in_each_other_it_is_the_outer_one():
    text = "y = torch.log(torch.log(x))"
    found = marked(finding(op="log"), text)
    assert text[found.start : found.end] == "torch.log(torch.log(x))"
