import pytest

from premortem.detectors.record_goes_the_wrong_way import RecordGoesTheWrongWay
from premortem.findings import Severity
from tests.detectors.faults.record_goes_the_wrong_way import EVENTS, NEGATIVE
from tests.detectors.test_contract import observe


@pytest.mark.parametrize(("events", "severity"), [(EVENTS, Severity.ERROR), (NEGATIVE, Severity.WARNING)])
def test_the_comparison_is_blamed(events, severity):
    (finding,) = observe(RecordGoesTheWrongWay(), events)
    assert (finding.where.line, finding.severity) == (53, severity)
    assert finding.evidence["kept"] < finding.evidence["best"]
