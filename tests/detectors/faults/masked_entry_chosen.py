from premortem.events import Chosen, Event, GraphWalked
from tests.detectors.rehearsal import line


def run(*choices: Chosen | None) -> list[Event]:
    return [
        GraphWalked(step=n, parameters=(1,), other_leaves=0, ops=("Mean",), chosen=(one,) if one else ())
        for n, one in enumerate(choices)
    ]


def of(rows: int, wrong: int, op: str = "min", at: int = 36) -> Chosen:
    return Chosen(line(at), op, rows, wrong)


EVENTS = run(of(32, 32), None, of(32, 31), of(30, 16))
LARGEST = run(*3 * [of(8, 8, "amax")])
HEALTHY = [
    run(*5 * [of(32, 0)]),
    run(of(32, 32), of(32, 32)),  # too few
    run(of(32, 32), of(32, 16), *3 * [of(32, 32)]),  # once it was no worse than a coin
    run(of(32, 32), of(32, 32, "max"), of(32, 32, at=40)),  # three lines
]
