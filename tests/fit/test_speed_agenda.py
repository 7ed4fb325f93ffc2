"""The plan of a measurement, without torch at work: what is tried, when it ends, and what is recommended."""

from contextlib import suppress

import pytest
import torch

from premortem import changes
from premortem.fit.speed.agenda import Notes, Turn, agenda
from premortem.fit.speed.numerics import Plain, Seen, agreement, distance
from premortem.fit.speed.report import Report, Row, advice
from premortem.fit.speed.scene import Scene, TurnReach
from premortem.fit.speed.timed_turns import Stage

PLAIN = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)


class Machine:
    """Answers turns: seconds and gradient by name, everything together for combinations."""

    def __init__(self, seconds, gradients=None, errors=None, drift=0.0):
        self.seconds, self.gradients, self.errors = seconds, gradients or {}, errors or {}
        self.drift, self.clock, self.turns = drift, 0.0, []

    def __call__(self, turn):
        self.turns.append(turn)
        share = 1.0
        for name in turn.names:
            share *= self.seconds[name]
        first = sum(1 for past in self.turns if past.names == turn.names) == 1
        seconds = 0.1 * share * (1 + self.drift * len(self.turns)) + (
            5.0 if first and "compile" in turn.names else 0
        )
        self.clock += seconds
        noise = torch.zeros(3, dtype=torch.float64)
        for name in turn.names:
            noise += self.gradients.get(name, 0.0)
        error = next((self.errors[name] for name in turn.names if name in self.errors), "")
        return Seen(seconds, (1.0,), PLAIN + noise, error=error)


def measured(machine, seconds=1e9, **facts):
    names = list(machine.seconds)
    notes = Notes(exact={"autocast": False}, compiles={"compile": True}, **facts)
    plan = agenda(notes, lambda: names, seconds, lambda: machine.clock)
    turn = next(plan)
    with suppress(StopIteration):
        while True:
            turn = plan.send(machine(turn))
    assert notes.finished
    return notes


def test_the_quickest_that_agrees_wins():
    notes = measured(Machine({"fused-optimizer": 0.9, "autocast": 0.5}, gradients={"autocast": 10.0}))
    assert notes.best().names == ("fused-optimizer",)
    assert notes.measured[("autocast",)].numbers.agrees is False


def test_what_gains_is_combined():
    notes = measured(Machine({"fused-optimizer": 0.9, "autocast": 0.5, "channels-last": 1.2}))
    assert notes.best().names == ("autocast", "fused-optimizer")
    assert notes.speed_up(("autocast", "fused-optimizer")) == pytest.approx(1 / 0.45)


def test_a_machine_that_gets_slower_does_not_deceive():
    notes = measured(Machine({"fused-optimizer": 1.0, "channels-last": 1.0}, drift=0.005))
    assert notes.best().names == ()


def test_one_that_fails_is_left_out_and_the_others_go_on():
    notes = measured(Machine({"compile": 0.5, "autocast": 0.8}, errors={"compile": "boom"}))
    assert notes.measured[("compile",)].error == "boom"
    assert notes.best().names == ("autocast",)


def test_rivals_are_not_combined():
    notes = measured(
        Machine({"compile": 0.5, "compile-blocks": 0.6, "autocast": 0.8}),
        rivals=(frozenset({"compile", "compile-blocks"}),),
    )
    assert notes.best().names == ("autocast", "compile")


def test_a_warm_up_must_be_paid_back_within_the_run():
    machine = {"compile": 0.5}
    assert measured(Machine(machine), steps=10).best().names == ()
    assert measured(Machine(machine), steps=1000).best().names == ("compile",)
    assert measured(Machine(machine)).measured[("compile",)].warm_up == pytest.approx(5.0)


def test_when_the_time_is_over_nothing_new_is_begun():
    notes = measured(Machine({"compile": 0.5, "autocast": 0.8}), seconds=4.0)
    assert "no time left" in notes.skipped["autocast"]
    assert notes.measured[("compile",)].rounds


def plain(*noise):
    return Plain(
        [Seen(0, (1.0,), PLAIN), Seen(0, (1.0,), PLAIN + noise[0])], [Seen(0, (1.1,), PLAIN + noise[1])]
    )


def test_equal_steps_set_the_measure():
    steady = plain(0.0, 0.0)
    assert agreement(steady, Seen(0, (1.0,), PLAIN + 1e-4), exact=True, own_chance=False).agrees
    assert not agreement(steady, Seen(0, (1.0,), PLAIN + 0.05), exact=True, own_chance=False).agrees
    assert agreement(steady, Seen(0, (1.0,), PLAIN + 0.05), exact=False, own_chance=False).agrees
    assert not agreement(steady, Seen(0, (1.5,), PLAIN), exact=False, own_chance=False).agrees


def test_random_numbers_of_its_own_are_allowed_only_where_the_step_has_some():
    other = Seen(0, (1.05,), PLAIN + 0.3)
    assert agreement(plain(0.0, 0.4), other, exact=True, own_chance=True).agrees
    assert not agreement(plain(0.0, 0.0), other, exact=True, own_chance=True).agrees
    assert not agreement(plain(0.0, 0.4), Seen(0, (1.0,), PLAIN * 3), exact=True, own_chance=True).agrees


def test_a_script_that_is_not_steady_is_no_measure():
    assert agreement(plain(1.0, 1.0), Seen(0, (1.0,), PLAIN), exact=True, own_chance=False).agrees is None


def test_gradients_of_other_shapes_are_infinitely_far():
    assert distance(PLAIN, PLAIN[:2]) == float("inf")
    assert distance(PLAIN * 0, PLAIN * 0) == 0.0


def test_the_advice_names_cost_and_gain():
    row = Row("compile", 50.0, 2.0, 30.0, 600, agrees=True, gradient_error=1e-6, how="model.compile()")
    report = Report(baseline_ms=100.0, rows=[row], recommended="compile", steps_per_epoch=300)
    assert advice(report) == [
        "Use compile: 2.00 times as fast, and it agrees with the step as it is.",
        "How: model.compile().",
        (
            "Its first steps take 30 s longer, which 600 steps (2 epochs) pay back. In a shorter run it does not pay; "
            "say how long yours is with --steps."
        ),
    ]
    assert Report.from_json(report.to_json()) == report


def test_what_compiles_runs_inside_of_the_others():
    scene = Scene(backend="eager", roots=[torch.nn.Linear(64, 64)])
    known = {name: changes.of("time")[name](TurnReach(scene), scene.run) for name in ("autocast", "compile")}
    stage = Stage(scene, iter(()), known)
    x = torch.randn(8, 64)
    with torch.no_grad():
        plain = scene.roots[0](x)
        stage._put_on(Turn(("autocast", "compile")))
        both = stage._through(scene.roots[0], scene.roots[0]._call_impl, x)
    assert all(change.touched for change in known.values())
    assert 0 < (both - plain).abs().max() < 0.1, "bfloat16 rounds"
