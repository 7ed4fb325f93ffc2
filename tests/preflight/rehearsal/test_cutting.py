"""When a pass over a loader ends early."""

from premortem.scriptrun.early_stop import FEW, Cutter, Pass


def training(drawn, *, batches=1000, began=0.0, steps_before=0):
    return Pass(batches, began, steps_before, drawn=drawn, backwards=drawn)


def test_a_long_pass_ends_after_the_asked_steps():
    cutter = Cutter(5)
    cutter.reached(10.0)
    assert not cutter.ends(training(4), 4, 0, 10.0)
    assert cutter.ends(training(5), 5, 0, 10.0)


def test_a_short_pass_is_left_alone():
    cutter = Cutter(5)
    cutter.reached(0.5)
    assert not cutter.ends(training(5, batches=10), 5, 0, 0.5)
    assert cutter.cut == 0


def test_gradients_that_no_step_has_used_yet_are_waited_for():
    cutter = Cutter(5)
    cutter.reached(10.0)
    assert not cutter.ends(training(22), 5, 2, 10.0)
    assert cutter.ends(training(24), 6, 0, 10.0)


def test_an_evaluation_ends_after_a_few_batches():
    cutter = Cutter(5)
    one = Pass(1000, 0.0, 5, drawn=FEW, judged=FEW)
    assert cutter.ends(one, 5, 0, 10.0)


def test_a_pass_that_only_reads_the_data_is_never_cut():
    cutter = Cutter(5)
    assert not cutter.ends(Pass(1000, 0.0, 0, drawn=500), 0, 0, 100.0)


def test_after_the_first_cut_each_epoch_has_one_step():
    cutter = Cutter(5)
    cutter.reached(10.0)
    assert cutter.ends(training(5), 5, 0, 10.0)
    assert not cutter.ends(training(0, steps_before=5), 5, 0, 11.0)
    assert cutter.ends(training(1, steps_before=5), 6, 0, 11.0)


def test_a_stream_without_a_length_ends_by_time():
    cutter = Cutter(5, budget=8.0)
    cutter.reached(0.1)
    assert not cutter.ends(training(5, batches=None), 5, 0, 0.1)
    assert cutter.ends(training(500, batches=None), 500, 0, 7.0)
