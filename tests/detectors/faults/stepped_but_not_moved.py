from tests.detectors.rehearsal import Rehearsal, link

STUCK = {"stuck": True, "moved": False, "update": 0.0}


def run(patterns, **facts):
    """For each step, which of two parameters change."""
    play = Rehearsal()
    for number, moves in enumerate(patterns):
        play.batch(**facts)
        links = [link(key, f"model.w{key}", pull=1e4, **({} if key in moves else STUCK)) for key in (1, 2)]
        play.custody(*links)
        assert number < 64
    return play.end()


EVENTS = run([{1}, {1}, {1}, {1}])
HEALTHY = [
    run([{1, 2}] * 8),
    # An optimizer that accumulates by itself and moves every fourth step.
    run([set(), set(), set(), {1, 2}, set(), set(), set(), {1, 2}]),
    run([{1, 2}, set(), set(), set()], closure=True),  # a line search that has arrived
]
