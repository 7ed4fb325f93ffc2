import pytest

from premortem.detectors.term_without_a_graph import TermWithoutAGraph
from tests.detectors.faults.term_without_a_graph import OF_A_GRADIENT, OF_WEIGHTS
from tests.detectors.test_contract import observe


@pytest.mark.parametrize(
    ("events", "line", "family"), [(OF_A_GRADIENT, 17, "grad-flow"), (OF_WEIGHTS, 35, "weight-decay")]
)
def test_what_is_computed_of_plain_numbers_is_named_where_they_were_taken(events, line, family):
    (finding,) = observe(TermWithoutAGraph(), events)
    assert (finding.where.line, finding.family) == (line, family)
