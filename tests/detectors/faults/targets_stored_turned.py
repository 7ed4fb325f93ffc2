"""Masks of a program that counts rows from the bottom."""

from premortem.profile.facts import Versions
from tests.detectors.flows import profiled, rows, sample


def laid(versions=None, **counts):
    ways = tuple((name.replace("_", " "), number) for name, number in counts.items())
    return [profiled(("`train`", "training", sample(rows(200)), {"laid": ways, "versions": versions}))]


SAME = Versions(60, 0, 0, 1.0)
EVENTS = laid(SAME, as_it_is=14, upside_down=16)
ALL_OF_THEM = laid(as_it_is=1, upside_down=30)
HEALTHY = [
    laid(SAME, as_it_is=30),
    laid(as_it_is=14, upside_down=16),  # a flip of the images alone looks the same in one pass
    laid(Versions(60, 31, 0, 0.5), as_it_is=14, upside_down=16),
]
