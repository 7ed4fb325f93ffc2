"""A report begins with the answer; curves and numbers come after it."""

import json
import math
from dataclasses import replace

import pytest

from premortem.events import StepRefused
from premortem.findings import Certainty, Where
from premortem.report import comparison, html, markdown, proof, story, trials, words
from premortem.report.trials import Trials
from tests.report.conftest import finding
from tests.report.reading import Page

SCRIPT = """import torch


def loss_of(p, y):
    return -(y * torch.log(p)).mean()
"""
MESSAGE = (
    "the logarithm of 0 at train.py:5 made -inf (sample 3 of 16, float32); nothing was learnt from step 3 on"
)


@pytest.fixture
def answered(journal, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    found = finding(
        where=Where(str(script), 5),
        message=MESSAGE,
        cause="what it was given was finite",
        remedy="clamp it",
        certainty=Certainty.PROVED,
        evidence={"op": "log", "replayed": True, "without_it": "double precision: the step is finite"},
    )
    losses = [1.0, 0.5, math.nan, *[0.4, math.nan] * 60]
    refused = [
        StepRefused(step=step, optimizer=1, reason="gradient", loss=loss, worst=None, row=1, total=1, made=2)
        for step, loss in enumerate(losses, 1)
        if math.isnan(loss)
    ]
    return story.read(journal(losses=losses, findings=[found], events=refused))


def test_line_cause_proof_fix_and_what_was_saved_come_before_the_curves(answered):
    assert answered.verdict.sentence == (
        "This run is broken from step 3 on: the logarithm of 0 at train.py:5 made -inf."
    )
    page = html.page(answered)
    texts = [
        answered.verdict.sentence,
        "<mark>torch.log(p)</mark>",
        "What it was given was finite",
        "it broke at the same operation",
        "Double precision: the step is finite",
        "Clamp it",
        "Nothing was saved",
        'id="timeline"',
        "sample 3 of 16",
    ]
    places = [page.index(text) for text in texts]
    assert places == sorted(places)
    written = markdown.page(answered)
    order = ["**Where.**", "**Cause.**", "**Proof.**", "**Fix.**", "**Saved.**", "## Timeline", "## Findings"]
    assert [written.index(part) for part in order] == sorted(written.index(part) for part in order)
    assert written.count("**Cause.**") == 1, "the answer is not repeated among the findings"


def test_many_refused_steps_are_marks_at_the_foot_of_the_plot(answered):
    (loss,) = answered.curves["loss"].values()
    assert len(loss.gaps) == 61
    drawn = Page(html.page(answered)).plots["timeline"]
    models = [each for each in _models(drawn) if each.get("name") == "Quad"]
    assert models
    plot = next(each for each in _models(drawn) if each.get("name") == "Figure")["attributes"]
    ends = plot["y_range"]["attributes"]
    data = [each for each in _models(drawn) if each.get("name") == "ColumnDataSource"]
    columns = [dict(each["attributes"]["data"]["entries"]) for each in data]
    rug = next(each for each in columns if "top" in each)
    height = (max(rug["top"]) - min(rug["bottom"])) / (ends["end"] - ends["start"])
    assert height < 0.1


def _models(node):
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _models(value)
    elif isinstance(node, list):
        for value in node:
            yield from _models(value)


def test_a_learning_rate_that_never_changes_is_a_number(journal):
    told = story.read(journal(losses=[1.0, 0.5, 0.4]))
    assert told.constant_rate == 0.1
    assert list(told.drawn) == ["loss", "gradient norm"]
    assert "Learning rate 0.1, constant" in Page(html.page(told)).text
    assert "| 0.1, constant |" in markdown.page(told)
    told.curves["learning rate"][""].y[-1] = 0.2
    assert told.constant_rate is None
    assert "learning rate" in told.drawn


def test_a_share_of_the_time_says_of_how_many_samples(journal):
    told = replace(
        story.read(journal(losses=[1.0, 0.5])),
        times=[story.Share("premortem", 0.25, 3), story.Share("forward", 0.75, 9)],
    )
    assert "25 %, 3 of 12" in Page(html.page(told)).text
    assert "| premortem | 25 % | 3 of 12 |" in markdown.page(told)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("the loss is NaN", "the loss is NaN."),
        ("the loss is 2.3 (chance is 2.302) and does not fall", "the loss is 2.3 and does not fall."),
        ("`clip_grad_norm_(1.0)` comes after the step", "`clip_grad_norm_(1.0)` comes after the step."),
        ("clip_grad_norm_(net (all)) is late; nothing is clipped", "clip_grad_norm_(net (all)) is late."),
        ("`f( a; b` is cut", "`f( a; b` is cut."),
        ("it is open (and never closed", "it is open (and never closed."),
        ("(all of it)", "(all of it)."),
    ],
)
def test_a_headline_is_the_first_clause_without_its_asides(message, said):
    assert words.headline(message) == said


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        (2.62046495572623, math.nan, ("2.62", "NaN")),
        (2.62046495572623, 2.7, ("2.62", "2.7")),
        (0.123456789, 0.123456111, ("0.123457", "0.123456")),
        (1.0, math.nextafter(1.0, 2.0), ("1.0", "1.0000000000000002")),
        (None, 1.0, ("not measured", "1")),
    ],
)
def test_two_numbers_have_the_digits_that_differ(left, right, said):
    assert words.apart(left, right) == said


def test_a_comparison_begins_with_code_and_settings_and_has_nothing_of_our_own(journal, tmp_path):
    scripts = [tmp_path / name for name in ("slow.py", "quick.py")]
    paths = []
    for script, rate in zip(scripts, ("0.1", "0.2"), strict=True):
        script.write_text(f"lr = {rate}\n")
        found = [finding(where=Where(str(script), 1))]
        paths.append(journal(script.stem, losses=[1.0], findings=found, meta={"argv": [str(script)]}))
    both = comparison.compare(*paths)
    assert list(both.patches) == ["slow.py and quick.py"]
    assert both.unlike.startswith("slow.py and quick.py (2 lines)")
    for fact in ("safetensors", "TORCHINDUCTOR_CACHE_DIR"):
        both.left.environment.append(story.Fact(fact, "1"))
    assert comparison.differences(both.left, both.right)["Environment"] == []
    page = html.comparison_page(both)
    assert page.index("lr = 0.2") < page.index("The runs") < page.index('data-plot="timeline"')
    json.dumps(both.differences)


def test_an_experiment_of_why_is_the_proof_and_its_patch_the_fix():
    found = finding(code="PM201", where=Where("train.py", 9))
    cause = {
        "code": "PM692",
        "where": {"file": "train.py", "line": 9},
        "change": "no scheduler",
        "effect": {"metric": "loss", "as_is": 2.3, "changed": 0.4, "noise": 0.01},
    }
    tried = Trials(causes=[cause], diff="-a\n+b\n", verified=True)
    assert "no scheduler: loss 2.3 → 0.4; the noise is 0.01" in proof.proof(found, "run", tried)
    assert proof.patch(found, tried) == "-a\n+b\n"
    assert proof.patch(finding(code="PM301", where=Where("other.py", 9)), tried) == ""
    unsure = replace(found, certainty=Certainty.SUSPECTED)
    assert "`premortem why runs/a` tests it" in proof.proof(unsure, "runs/a", None)


def test_the_curves_of_trials_end_where_all_of_them_are_nan():
    nan = float("nan")
    told = {
        "as_is": {"backwards": 400, "curves": [[0.7, 0.6, *[nan] * 38], [nan] * 40]},
        "trials": [{"title": "rate ÷ 10", "verdict": "nothing", "curve": [0.7, 0.6, 0.5, *[nan] * 37]}],
    }
    drawn = trials._read(told).curves
    assert list(drawn) == ["as it is", "rate ÷ 10"], "a curve without a number is none"
    assert max(x for curve in drawn.values() for x in curve.x) <= 40
