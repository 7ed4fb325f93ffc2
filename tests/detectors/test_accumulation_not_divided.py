from premortem.detectors.accumulation_not_divided import AccumulationNotDivided
from tests.detectors.derived_events import with_windows
from tests.detectors.faults import accumulation_not_divided as faults
from tests.detectors.test_contract import observe


def test_the_loss_is_divided_by_the_batches_of_an_epoch():
    (finding,) = observe(AccumulationNotDivided(), with_windows(faults.BY_THE_EPOCH))
    assert finding.message == (
        "each step sums the gradients of 4 micro-batches, and the loss is divided by 100, the batches of an epoch"
    )
    assert finding.evidence["divisor"] == 100


def test_the_loss_is_divided_twice():
    (finding,) = observe(AccumulationNotDivided(), with_windows(faults.TWICE))
    assert "is divided by 4 twice" in finding.message
    assert "divide it once" in finding.remedy
