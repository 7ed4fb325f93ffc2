from premortem.detectors.loss_without_graph import LossWithoutGraph
from tests.detectors.faults.loss_without_graph import CRASHED, EVENTS
from tests.detectors.test_contract import observe


def test_a_crash_names_what_is_frozen():
    (finding,) = observe(LossWithoutGraph(), CRASHED)
    assert finding.evidence["frozen"] == ["model"]
    assert "2 parameters of `model`" in finding.cause
    assert finding.where.line == 22


def test_a_loss_made_anew_names_the_line_that_cut_it():
    (finding,) = observe(LossWithoutGraph(), EVENTS)
    assert "2 parameters" in finding.message
    assert "`item` at line 21" in finding.cause
    assert (finding.step, finding.where.line) == (2, 21)
