"""Which trials are made: the director is real, but for the processes, whose results are made up."""

from typing import ClassVar

from premortem.changes import RunDescription
from premortem.why import page, verdict, yardsticks
from premortem.why.director import Director, Why, WhyOptions
from premortem.why.order import Order, Result
from premortem.why.rounds import Rounds
from premortem.why.verdict import HELPS, NOTHING

LINE, STEPS = "train.py:9", 120
STUCK = RunDescription(optimizers=("SGD",), clips=True, schedules=True, weight_decay=0.1, terms=2, stuck=True)


class Pretending(Director):
    """`learns(change)`: whether the script learns with it. Each step of a trial takes a tenth of a second."""

    less: ClassVar[dict[str, float]] = {}  # what a change helps, where it is not as much as the others
    not_again = ()  # changes that do not help under another seed, as change@seed

    def __init__(self, learns, minutes=10.0, run=STUCK, findings=()):
        self.options = WhyOptions(argv=["train.py"], minutes=minutes, jobs=2)
        self.jobs = 2
        self.learns, self.orders, self.total = learns, [], 60 * minutes
        first = self.launch_of("", STEPS)
        self.done = Why(seeds=[first, first, first], run=run, learns=False, findings=list(findings))
        self.done.sticks = yardsticks.yardsticks(first)
        self.done.chance = yardsticks.noise(self.done.sticks, self.done.seeds)

    @property
    def spent(self):
        return sum(order.backwards for order in self.orders) / 10 / self.jobs

    def launch(self, order, words=None):
        self.orders.append(order)
        return self.launch_of(f"{order.change}@{order.seed}" if order.seed else order.change, order.backwards)

    def launch_of(self, change, steps):
        name, _, _seed = change.partition("@")
        gain = 1.9 * self.less.get(name, 1.0) if change not in self.not_again else 0.0
        helps = name and self.learns(name)
        series = [2.0 - (gain * place / STEPS if helps else 0.0) for place in range(steps)]
        if change:
            series[0] += 1e-6  # every change is seen to act
        return Result(
            losses={LINE: series},
            backwards=steps,
            ended="finished",
            touched=1,
            seconds=steps / 10,
            step_seconds=0.1,
        )


def asked(director):
    Rounds(director).run()
    return director.done.rows, [order.change for order in director.orders if not order.seed]


def test_two_faults_are_found_together_where_neither_is_found_alone():
    both = {"no-clipping", "rate-times-hundred"}
    rows, _ = asked(Pretending(lambda change: both <= set(change.split("+"))))
    (cause,) = verdict.ranked(rows, learns=False)
    assert set(cause.change.split("+")) == both
    assert cause.family == "clipping"
    assert cause.again, "it has to help again"


def test_no_pair_is_tried_where_one_change_is_enough_or_an_error_was_measured():
    _, names = asked(Pretending(lambda change: change == "no-clipping"))
    assert not any("+" in name for name in names)
    error = {"name": "wrong-sign", "family": "loss-definition", "severity": "error"}
    _, names = asked(Pretending(lambda change: False, findings=[error]))
    assert not any("+" in name for name in names)


def test_where_time_is_scarce_the_better_half_goes_on():
    director = Pretending(lambda change: change == "rate-times-ten", minutes=1.0)
    rows, _ = asked(director)
    short = {order.change for order in director.orders if order.backwards < STEPS}
    whole = {order.change for order in director.orders if order.backwards == STEPS}
    assert short, "all of them for a third of the steps"
    assert "rate-times-ten" in whole
    assert short - whole, "and the worse half no longer"
    kinds = {row.change: row for row in rows}
    assert kinds["rate-times-ten"].verdict == HELPS
    assert any(row.verdict == NOTHING and "third" in row.why for row in rows)
    plenty = Pretending(lambda change: change == "rate-times-ten")
    asked(plenty)
    assert all(order.backwards == STEPS for order in plenty.orders)


def test_an_error_that_was_measured_is_looked_for_again_with_the_change():
    error = {"name": "updates-too-large", "family": "lr", "severity": "error"}
    director = Pretending(lambda change: change == "no-clipping", findings=[error])
    rows, _ = asked(director)
    helped = next(row for row in rows if row.change == "no-clipping")
    assert helped.still == set(), "it went away"
    assert any(order.watched for order in director.orders)


def learning(helps, *, whole=True):
    """A script that learns as it is, seen to its end or not."""
    director = Pretending(helps, run=RunDescription(optimizers=("SGD",)))
    director.done.learns, director.done.to_the_end = True, whole
    rows, names = asked(director)
    return {row.change: row for row in rows}, names, verdict.ranked(rows, learns=True)


def test_a_rate_is_a_mistake_where_a_hundred_times_as_much_helps_too():
    up = {"rate-times-ten", "rate-times-hundred"}
    _, names, causes = learning(lambda change: change in up)
    assert up <= set(names)
    assert [row.change in up for row in causes] == [True]
    _, names, causes = learning(lambda change: change == "rate-times-ten")
    assert "rate-times-hundred" in names
    assert causes == [], "a better setting"
    down = {"rate-tenth", "rate-hundredth"}
    assert learning(lambda change: change in down, whole=False)[2]


def test_a_rate_is_no_mistake_where_a_hundred_times_as_much_helped_by_chance():
    up = {"rate-times-ten", "rate-times-hundred"}
    director = Pretending(lambda change: change in up, run=RunDescription(optimizers=("SGD",)))
    director.not_again = {"rate-times-hundred@1", "rate-times-hundred@2"}
    director.done.learns = director.done.to_the_end = True
    rows, _ = asked(director)
    assert next(row for row in rows if row.change == "rate-times-ten").verdict == HELPS
    assert verdict.ranked(rows, learns=True) == []


def test_in_few_steps_no_rate_is_too_low_however_many_backward_passes_make_a_step():
    up = {"rate-times-ten", "rate-times-hundred"}
    for steps, causes in ((0, 1), (STEPS, 1), (STEPS // 4, 0)):
        director = Pretending(lambda change: change in up, run=RunDescription(optimizers=("SGD",)))
        director.done.first.steps = steps
        director.done.learns = director.done.to_the_end = True
        rows, _ = asked(director)
        assert len(verdict.ranked(rows, learns=True)) == causes, steps


def test_what_a_higher_rate_does_as_well_is_no_mistake_in_few_steps():
    run = RunDescription(optimizers=("SGD",), odd_inputs=True)
    for helping, found in (
        ({"inputs-standardised"}, ["inputs-standardised"]),
        ({"inputs-standardised", "rate-times-ten", "rate-times-hundred"}, []),
    ):
        director = Pretending(helping.__contains__, run=run)
        director.done.first.steps = STEPS // 4
        director.done.learns = director.done.to_the_end = True
        rows, names = asked(director)
        assert "rate-times-ten" in names, "what may be due to few steps explains nothing"
        assert [row.change for row in verdict.ranked(rows, learns=True)] == found


def test_a_rate_that_ten_times_as_much_repairs_may_need_more_steps_also_where_nothing_is_learned():
    run = RunDescription(optimizers=("SGD",), stuck=True)
    up = {"rate-times-ten", "rate-times-hundred"}
    for helping, found in (
        ({"rate-times-ten", "plain-adam"}, False),
        (up, True),
        ({"rate-times-hundred"}, True),
        ({"plain-adam"}, True),
    ):
        director = Pretending(helping.__contains__, run=run)
        director.less = {"rate-times-ten": 0.4}
        rows, _ = asked(director)
        assert bool(verdict.ranked(rows, learns=False)) is found, helping
    director = Pretending({"rate-times-hundred"}.__contains__, run=run)
    director.done.first.steps = STEPS // 4
    assert verdict.ranked(asked(director)[0], learns=False) == [], "and in few steps no rate is too low"


def test_a_low_rate_is_no_mistake_where_the_script_goes_on():
    up = {"rate-times-ten", "rate-times-hundred"}
    rows, names, causes = learning(lambda change: change in up, whole=False)
    assert "rate-times-hundred" not in names
    assert causes == []
    assert "goes on" in rows["rate-times-hundred"].why


def test_what_helps_in_both_directions_says_nothing():
    rows, _, causes = learning(lambda change: change.startswith("rate-t"))
    assert causes == []
    assert rows["rate-times-ten"].verdict == rows["rate-tenth"].verdict == NOTHING
    assert "helps too" in rows["rate-tenth"].why
    stuck, _ = asked(Pretending(lambda change: change.startswith("rate-") and change != "rate-constant"))
    assert not [row for row in stuck if row.family == "lr" and row.verdict == HELPS], (
        "nor does what goes further"
    )


def test_what_cannot_be_repeated_in_time_proves_nothing():
    director = Pretending(
        lambda change: True, run=RunDescription(optimizers=("SGD",), clips=True, weight_decay=0.1)
    )
    director.done.learns = True
    rounds = Rounds(director)
    rows = [row for row in rounds._questions() if row.family]
    for row in rows:
        row.verdict = HELPS
    director.total = 0.0
    rounds._again(rows)
    assert [len(row.again) for row in rows].count(0) == len(rows) - 1
    assert {row.why for row in rows if not row.again} == {verdict.NO_TIME}


def test_no_rate_is_too_low_in_a_script_of_few_steps(monkeypatch):
    monkeypatch.setattr("tests.why.test_rounds.STEPS", 40)
    up = {"rate-times-ten", "rate-times-hundred", "plain-adam"}
    rows, _ = asked(Pretending(lambda change: change in up))
    assert {row.change for row in rows if row.verdict == HELPS} == up
    assert verdict.ranked(rows, learns=False) == []


def test_an_error_after_the_training_is_the_scripts_own_where_it_has_it_without_a_change():
    director = Pretending(lambda change: False)

    def fails(steps, ended="FileNotFoundError: best.pt"):
        return director._as_it_breaks(Order(backwards=STEPS), Result(backwards=steps, ended=ended)).failed

    assert fails(STEPS), "as it is, the script ends well: the change has broken it"
    director.done.first.ended = "FileNotFoundError: best.pt"
    assert not fails(STEPS)
    assert fails(STEPS - 1), "it has not trained to the end"
    assert fails(STEPS, ""), "its process died"
    assert fails(STEPS, "premortem could not try it (a bug)")
    assert page.as_it_is(director.done).endswith("Then it fails: FileNotFoundError: best.pt")
