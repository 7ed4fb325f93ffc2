"""What the journal keeps besides steps and findings: bounded, in the writer's time, and without torch."""

import functools
import json
import math
import sys
import time

import pytest

from premortem.events import Custody, EpochEnded, LayerStats, Link, LogLine, ModelSeen, Parameter, StepStats
from premortem.findings import Certainty, Finding, Severity, Where
from premortem.journal import Journal, Run, audits, pulse, rows, write
from premortem.journal.sparse import Sparse


@pytest.fixture
def kept(tmp_path):
    """Writes entries and reads the journal."""
    opened = []

    def reading(put, **accounts):
        journal = Journal.open(tmp_path / "run", meta={}, on_problem=pytest.fail)
        journal.accounts |= accounts
        put(journal)
        journal.close()
        opened.append(Run(journal.path))
        return opened[-1]

    yield reading
    for run in opened:
        run.close()


def link(name, **changes):
    given = {
        "key": 1,
        "name": name,
        "model": 1,
        "numel": 4,
        "trainable": True,
        "ran": True,
        "ran_without_grad": False,
        "reached": True,
        "graded": True,
        "gradient": 3.0,
        "owners": (1,),
        "moved": True,
        "weight": 2.0,
        "update": 0.5,
        "loaded": False,
        "trained": True,
        "born_after": False,
        "hidden": "",
        "head": False,
    }
    return Link(**{**given, **changes})


def layer(kind, name="model", *, dead=0.0, order=-1, step=1, grad=True):
    numbers = dict.fromkeys(
        "input_mean input_std input_min input_max output_mean output_std output_min output_max".split(), 0.0
    )
    return LayerStats(
        step=step, model=1, layer=name, kind=kind, order=order, last=False, grad=grad, training=True, samples=4,
        finite=True, dead=dead, **numbers,
    )  # fmt: skip


# --- bounds ----------------------------------------------------------------------------------


def test_a_million_values_cost_a_few_thousand_rows():
    sparse = Sparse(1000)
    wanted = [number for number in range(1_000_000) if sparse.wants("loss")]
    assert wanted[:1000] == list(range(1000))
    assert len(wanted) < 8000
    assert wanted[-1] > 990_000, "to the end"


def test_what_is_not_finite_is_kept_besides():
    sparse = Sparse(10)
    kept = [n for n in range(100_000) if sparse.wants("loss", math.nan if n == 77_777 else 1.0)]
    assert 77_777 in kept
    assert len([n for n in range(100_000) if sparse.wants("nan", math.nan)]) < 200


def test_names_without_end_are_ended():
    sparse = Sparse(10)
    assert sum(sparse.wants(f"loss of batch {number}") for number in range(10_000)) == 64


def test_events_of_a_kind_are_bounded(kept):
    run = kept(
        lambda journal: [journal.event(EpochEnded(loader=1, batches=1, step=n)) for n in range(20_000)]
    )
    assert rows.EVENTS <= len(run.events("EpochEnded")) < 8 * rows.EVENTS


def test_a_peak_of_a_long_run_is_not_thinned_out(kept, monkeypatch):
    monkeypatch.setattr(write, "ALL_STEPS", 100)
    monkeypatch.setattr(write, "BURST", 10)

    def put(journal):
        for step in range(1, 5001):
            loss = 50.0 if step == 3333 else 1.0
            journal.step(StepStats(step=step, optimizer=1, loss=loss, grad_norm=1.0, worst=None), 0.0)
            if step == 100:
                journal.finding(FINDING)

    found = {step.step: step.loss for step in kept(put).steps()}
    assert len(found) < 2000
    assert found[3333] == 50.0


# --- what is kept ----------------------------------------------------------------------------

FINDING = Finding(
    code="X1",
    name="x",
    family="lr",
    severity=Severity.ERROR,
    certainty=Certainty.MEASURED,
    step=1,
    message="m",
)


def test_printed_numbers_become_series(kept):
    line = LogLine(
        step=3,
        text="",
        template="",
        values=(("val_loss", "nan", math.nan), ("", "3", 3.0), ("acc", ".5", 0.5)),
    )
    found = [
        (each.step, each.name, each.value)
        for each in kept(lambda j: j.event(line)).numbers()
        if each.name != "memory of the process"
    ]
    assert [(step, name) for step, name, _ in found] == [(3, "val_loss"), (3, "acc")]
    assert math.isnan(found[0][2])


def test_custody_becomes_layers_and_its_newest_state(kept):
    links = (
        link("model.a.weight"),
        link("model.a.bias", gradient=4.0),
        link("model.b.weight", owners=(), moved=False, graded=True, gradient=math.nan),
        link("model.frozen.weight", trainable=False),
    )
    run = kept(lambda j: [j.event(Custody(step=step, optimizer=1, links=links)) for step in (1, 2)])
    assert [(audit.step, audit.values) for audit in run.audits("gradient")] == [
        (1, {"model.a": 5.0}),
        (2, {"model.a": 5.0}),
    ]
    assert run.audits("ratio")[0].values == {"model.a": 0.25}
    newest = run.latest()["custody 1"]
    assert (newest["step"], newest["parameters"]) == (2, 4)
    assert newest["links"][0]["name"] == "model.b.weight", "what is broken comes first"


def test_a_gradient_that_is_not_finite_stays_so(kept):
    links = (link("model.a.weight", gradient=math.inf), link("model.b.weight", gradient=1e200))
    run = kept(lambda j: j.event(Custody(step=1, optimizer=1, links=links)))
    assert run.audits("gradient")[0].values == {"model.a": math.inf, "model.b": math.inf}


def test_many_layers_are_summed_up_into_the_modules_around_them():
    names = [f"model.blocks.{block}.attention.{part}.weight" for block in range(40) for part in "qkvo"]
    found = audits.layer_names(names)
    assert set(found) == {f"model.blocks.{block}.attention" for block in range(40)}
    assert audits.layer_names(["weight", "model.0.bias"]) == ["weight", "model.0"]


def test_dead_units_have_the_name_of_the_module_that_ran(kept):
    forward = [
        layer("Linear", "model.0", order=0),
        layer("relu", dead=0.5),
        layer("ReLU", "model.1"),
        layer("relu", dead=0.25),
    ]
    after = layer("relu", step=2)
    run = kept(lambda j: [j.event(each) for each in [*forward, after]])
    assert [(audit.step, audit.values) for audit in run.audits("dead")] == [
        (2, {"model.1": 0.5, "model relu 2": 0.25})
    ]


def test_a_model_is_counted_and_not_listed(kept):
    seen = ModelSeen(
        model=1,
        name="net",
        kind="Net",
        parameters=(Parameter(1, "a", (3, 4), True), Parameter(2, "b", (5,), False)),
    )
    (event,) = kept(lambda j: j.event(seen)).events("ModelSeen")
    assert event["parameters"] == {"tensors": 2, "elements": 17, "trainable": 12}


def test_a_source_is_kept_as_it_was(kept, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("first = 1\n")

    def put(journal):
        journal.source(str(script))
        journal.finding(FINDING)  # waits for the writer
        script.write_text("second = 2\n")
        where = Where(str(script), 1)
        journal.finding(Finding(**{**{f: getattr(FINDING, f) for f in FINDING.__slots__}, "where": where}))
        journal.source(str(tmp_path / "no such file"))
        (tmp_path / "huge.py").write_text("x" * (rows.SOURCE + 1))
        journal.source(str(tmp_path / "huge.py"))

    assert kept(put).sources() == {str(script): "first = 1\n"}


def test_accounts_are_asked_at_the_end_and_one_that_fails_costs_only_itself(kept):
    run = kept(lambda j: j.note(x=1), ledger=lambda: [1, math.nan], broken=lambda: 1 / 0)
    assert run.latest()["ledger"] == [1, "nan"]
    assert [fault.unit for fault in run.faults()] in ([], ["broken"])
    assert "broken" not in run.latest()


# --- where the time goes ---------------------------------------------------------------------


def frames(*places):
    """The innermost frame of functions that call each other, outermost first, and claim to be from these files."""
    inner = None
    for file, name in reversed(places):
        space = {"sys": sys}
        text = f"def {name}(inner):\n    return inner() if inner else sys._getframe()\n"
        exec(compile(text, file, "exec"), space)
        inner = functools.partial(space[name], inner)  # which has no frame of its own
    return inner()


OURS = f"{pulse._OURS}probes/modules.py"


@pytest.mark.parametrize(
    ("stack", "what"),
    [
        ([("train.py", "main")], "script"),
        ([("numpy/core.py", "dot"), ("train.py", "main"), (OURS, "run")], "script"),
        ([("/x/torch/optim/adam.py", "step"), ("train.py", "main")], "optimizer"),
        ([(OURS, "look"), ("/x/torch/optim/adam.py", "step"), ("train.py", "main")], "premortem"),
        (
            [("/x/torch/functional.py", "norm"), (OURS, "look"), ("/x/torch/optim/sgd.py", "step")],
            "premortem",
        ),
        (
            [
                ("net.py", "forward"),
                ("/x/torch/nn/modules/module.py", "call"),
                (OURS, "call"),
                ("train.py", "main"),
            ],
            "forward",
        ),
        ([("data.py", "item"), ("/x/torch/utils/data/fetch.py", "fetch"), ("train.py", "main")], "data"),
        (
            [
                ("/x/torch/autograd/graph.py", "run"),
                ("/x/torch/_tensor.py", "backward"),
                ("train.py", "main"),
            ],
            "backward",
        ),
    ],
)
def test_the_innermost_known_function_says_what_is_done(stack, what):
    assert pulse.doing(frames(*reversed(stack))) == what


def test_the_pulse_of_a_sleeping_script(kept, monkeypatch):
    monkeypatch.setattr(write, "PAUSE", 0.02)

    def put(journal):
        journal.note(x=1)
        time.sleep(0.5)

    run = kept(put)
    seen = run.latest()["time"]
    assert sum(seen.values()) >= 3
    assert set(seen) <= {"script", "premortem"}
    first = run.numbers()[0]
    assert first.name == "memory of the process"
    assert first.value > 1e6


def test_rows_are_strict_json(kept):
    run = kept(lambda j: j.event(Custody(step=1, optimizer=1, links=(link("a.b", gradient=math.nan),))))
    text = run._read("SELECT record FROM layers", str)[0]
    assert json.loads(text, parse_constant=pytest.fail) == {"a": "nan"}
