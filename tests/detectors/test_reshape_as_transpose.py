import pytest

from premortem.detectors.reshape_as_transpose import ReshapeAsTranspose
from premortem.findings import Severity
from tests.detectors.faults.reshape_as_transpose import (
    EVENTS,
    JOINED,
    MERGED,
    MIXED,
    REGROUPED,
    SQUEEZED,
)
from tests.detectors.test_contract import observe


@pytest.mark.parametrize(
    ("events", "severity", "remedy"),
    [
        (EVENTS, Severity.ERROR, "Use permute(0, 2, 1) instead."),
        (SQUEEZED, Severity.ERROR, "Use permute(0, 3, 1, 2).reshape(32, 9, 24) instead."),
        (REGROUPED, Severity.WARNING, "Use permute(0, 2, 1) instead."),
        (MIXED, Severity.ERROR, "Use transpose(0, 1) first, then reshape."),
        (MERGED, Severity.ERROR, "Use transpose(1, 2).reshape(24, 14, 32) instead."),
        (JOINED, Severity.ERROR, "Use permute(0, 2, 1, 3, 4).reshape(96, 16, 25) instead."),
    ],
    ids=["swapped", "squeezed", "regrouped", "mixed", "merged", "joined"],
)
def test_what_was_meant_is_said(events, severity, remedy):
    (finding,) = observe(ReshapeAsTranspose(), events)
    assert finding.severity is severity
    assert finding.remedy == remedy
