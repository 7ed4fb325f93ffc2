import pytest

from premortem.detectors.term_for_another_model import TermForAnotherModel
from tests.detectors.faults.term_for_another_model import EVENTS, UNPAIRED
from tests.detectors.test_contract import observe


@pytest.mark.parametrize(("events", "family"), [(EVENTS, "gan"), (UNPAIRED, "grad-flow")])
def test_the_call_of_the_judge_is_blamed(events, family):
    (finding,) = observe(TermForAnotherModel(), events)
    assert (finding.where.line, finding.where.module, finding.family) == (34, "D", family)
