"""stop: end the run at a step boundary, where weights and optimizer state agree."""

from typing import NoReturn

from premortem.errors import Stopped
from premortem.findings import Finding


def stop(finding: Finding) -> NoReturn:
    raise Stopped(f"{finding.code} {finding.name}: {finding.message}")
