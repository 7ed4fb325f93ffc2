from dataclasses import replace

from tests.detectors.flows import profiled, rows, sample


def laid(**counts):
    ways = tuple((name.replace("_", " "), number) for name, number in counts.items())
    return [profiled(("`train`", "training", sample(rows(200)), {"laid": ways}))]


EVENTS = laid(as_it_is=1, upside_down=30)
HALF = laid(as_it_is=14, mirrored_left_to_right=13)
HEALTHY = [
    laid(as_it_is=30),
    laid(as_it_is=25, upside_down=2),
    laid(as_it_is=4, upside_down=6, mirrored_left_to_right=6),  # chance takes each of them
    laid(upside_down=6),  # too few
    [replace(laid(as_it_is=0, upside_down=30)[0], profiles=())],
]
