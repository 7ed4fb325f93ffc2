from dataclasses import replace

from premortem.events import RunEnded
from premortem.profile.facts import Versions
from tests.detectors.flows import profiled, rows, sample


def laid(versions=None, **counts):
    ways = tuple((name.replace("_", " "), number) for name, number in counts.items())
    known = {"laid": ways, "versions": versions}
    return [profiled(("`train`", "training", sample(rows(200)), known)), RunEnded(step=60, reason="finished")]


def cut(trained, judged, versions=None):
    """Masks that say more of their own picture than another one does, and all, in both phases."""
    known = {"fitting": trained, "versions": versions}
    flows = [
        ("`train`", "training", sample(rows(200)), known),
        ("`val`", "evaluation", sample(rows(200)), {"fitting": judged}),
    ]
    return [profiled(*flows), RunEnded(step=60, reason="finished")]


APART = cut((19, 32), (32, 32))
EVENTS = laid(as_it_is=14, upside_down=16)
HALF = laid(Versions(60, 31, 0, 0.5), as_it_is=14, mirrored_left_to_right=13)[:1]
HEALTHY = [
    cut((31, 32), (32, 32)),
    cut((19, 32), (20, 32)),  # the targets do not lie on the inputs at all: another task
    cut((5, 8), (8, 8)),  # too few
    cut((24, 32), (32, 32)),  # most fit
    cut((19, 32), (32, 32), Versions(60, 0, 0, 1.0)),  # stored so: other targets, and no transform
    laid(as_it_is=30),
    laid(Versions(60, 0, 0, 1.0), as_it_is=14, upside_down=16),  # they are stored so
    laid(as_it_is=1, upside_down=30),
    laid(as_it_is=25, upside_down=2),
    laid(as_it_is=4, upside_down=6, mirrored_left_to_right=6),  # chance takes each of them
    laid(upside_down=6),  # too few
    [replace(laid(as_it_is=0, upside_down=30)[0], profiles=())],
]
