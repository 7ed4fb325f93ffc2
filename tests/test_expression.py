"""Which expression of a line is marked on a card."""

from dataclasses import replace

import pytest

from premortem.derived.expression import marked, values
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


@pytest.mark.parametrize(
    ("text", "module", "shown"),
    [
        ("return self.out(self.classifier(flat).relu())", "classifier", "self.classifier(flat)"),
        ("return self.out(self.classifier(flat).relu())", "net.classifier", "self.classifier(flat)"),
        (
            "loss = criterion(model(x), y)",
            None,
            "criterion(model(x), y)",
        ),  # one call, whatever is inside of it
        ("loss.backward()", None, "loss.backward()"),
    ],
)
def test_a_line_is_about_the_module_that_is_named_else_about_its_one_call(text, module, shown):
    if text.startswith("return"):
        text = f"def forward(self, flat): {text}"
    found = finding()
    found = marked(replace(found, where=replace(found.where, module=module)), text)
    assert text[found.start : found.end] == shown


def test_of_two_calls_side_by_side_neither_is_marked():
    assert marked(finding(), "loss = first(x) + second(x)") is None


def operand(low, high):
    return {"name": "self", "dtype": "float32", "shape": [4], "low": low, "high": high}


@pytest.mark.parametrize(
    ("text", "evidence", "shown"),
    [
        (
            "y = batch / norm(batch)",
            {"op": "div", "operands": [operand(-2.5, 2.5), operand(0, 4)]},
            "batch: -2.5 … 2.5, norm(batch): 0 … 4",
        ),
        ("y = torch.log(p)", {"op": "log", "operands": [operand(0, 0)]}, "p: 0"),
        ("y = p.log()", {"op": "log", "operands": [operand(0, 1)]}, "p: 0 … 1"),
        (
            "y = head(flat)",
            {"shapes": {"flat": "(8, 3600)", "other": "(1,)"}},
            "flat: (8, 3600)",
        ),
        ("y = head(flat)", {}, ""),
    ],
)
def test_what_the_variables_held_is_shown_beside_the_carets(text, evidence, shown):
    assert values(finding(**evidence), text) == shown
