from premortem.detectors.accumulation_divided_sometimes import AccumulationDividedSometimes
from premortem.detectors.accumulation_not_divided import AccumulationNotDivided
from tests.detectors.derived_events import with_windows
from tests.detectors.faults.accumulation_divided_sometimes import EVENTS, FIRST_ONLY, OF_TERMS
from tests.detectors.test_contract import observe


def test_the_message_counts_both_kinds():
    (finding,) = observe(AccumulationDividedSometimes(), with_windows(EVENTS))
    assert finding.message == "3 of 12 micro-batches were divided by 4, and 9 were not"


def test_dividing_the_very_first_micro_batch_only_is_not_dividing():
    assert observe(AccumulationDividedSometimes(), with_windows(FIRST_ONLY))
    assert observe(AccumulationNotDivided(), with_windows(FIRST_ONLY)) == []


def test_a_loss_of_several_terms_is_judged_by_what_it_was_divided_by():
    (finding,) = observe(AccumulationDividedSometimes(), with_windows(OF_TERMS))
    assert finding.message == "1 of 12 micro-batches were divided by 4, and 11 were not"
