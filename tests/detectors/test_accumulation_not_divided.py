from premortem.derived.windows import with_windows
from premortem.detectors.accumulation_not_divided import AccumulationNotDivided
from tests.detectors.faults.accumulation_not_divided import BY_THE_EPOCH
from tests.detectors.test_contract import observe


def test_the_loss_is_divided_by_the_batches_of_an_epoch():
    (finding,) = observe(AccumulationNotDivided(), with_windows(BY_THE_EPOCH))
    assert finding.message == (
        "each step sums the gradients of 4 micro-batches, and the loss is divided by 100, the batches of an epoch"
    )
    assert finding.evidence["divisor"] == 100
