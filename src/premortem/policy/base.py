"""What a policy is."""

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from premortem.findings import Finding


class Decision(Enum):
    """What is to be done about a finding."""

    REPORT = "report"
    STOP = "stop"


class Policy(Protocol):
    refuses: bool  # whether an update that is not finite is kept from the weights

    def decide(self, finding: Finding, past: Sequence[Finding]) -> Decision:
        """What to do about `finding`, given what was found before it."""
        ...
