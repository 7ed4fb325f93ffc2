from premortem.detectors.loss_without_graph import LossWithoutGraph
from tests.detectors.faults.loss_without_graph import CRASHED, EVENTS
from tests.detectors.test_contract import observe


def test_a_crash_names_what_is_frozen():
    (finding,) = observe(LossWithoutGraph(), CRASHED)
    assert finding.message == "backward() was called on a loss that has no graph"
    assert finding.cause == "all 2 parameters of `model` are frozen (`requires_grad` is False)"
    assert finding.where.line == 22


def test_a_loss_made_anew_names_the_line_that_cut_it():
    (finding,) = observe(LossWithoutGraph(), EVENTS)
    assert finding.message == (
        "backward() reaches no parameter: none of the 2 parameters of the optimizer has a gradient"
    )
    assert finding.cause == "the loss was made anew, without its history: `item` at line 21"
    assert (finding.step, finding.where.line) == (2, 21)
