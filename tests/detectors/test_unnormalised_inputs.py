import pytest

from premortem.detectors.unnormalised_inputs import UnnormalisedInputs
from premortem.findings import Severity
from tests.detectors.faults.unnormalised_inputs import EVENTS, SHUT, TINY
from tests.detectors.test_contract import observe


@pytest.mark.parametrize(
    ("events", "severity", "harm"),
    [
        (EVENTS, Severity.ERROR, "where guessing scores"),
        (SHUT, Severity.WARNING, "where guessing scores"),
        (TINY, Severity.WARNING, "never left the level of guessing"),
    ],
    ids=["large", "recurrent", "tiny"],
)
def test_the_harm_is_measured(events, severity, harm):
    (finding,) = observe(UnnormalisedInputs(), events)
    assert finding.severity is severity
    assert harm in finding.message
