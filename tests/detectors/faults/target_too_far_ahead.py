from premortem.events import Event, RowsCompared, Site


def run(*ahead: int | None, cut: int = 1) -> list[Event]:
    at = Site("train.py", 11)
    return [
        RowsCompared(step=n, at=at, fn="cross_entropy", rows=31, ahead=one, cut=cut)
        for n, one in enumerate(ahead)
    ]


EVENTS = run(2, 2, 2)
HEALTHY = [run(1, 1, 1), run(0, 0, 0), run(1, 2, 3, 1, 2, 3, 1, 2, 3), run(None, None, None), run(2, 2)]
HEALTHY += [run(2, 3, 2, 3, 2, 3)]  # heads that look further ahead
A_CHOICE = [run(2, 2, 2, cut=2), run(2, 2, 2, cut=0), run(-1, -1, -1)]
