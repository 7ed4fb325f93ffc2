from premortem.events import Event, GraphWalked, Handed
from tests.detectors.rehearsal import line


def run(*passes: Handed | None) -> list[Event]:
    return [
        GraphWalked(step=n, parameters=(1,), other_leaves=0, ops=("NllLoss",), handed=(one,) if one else ())
        for n, one in enumerate(passes)
    ]


def of(cut: int, kept: int, layer: str = "model.cell") -> Handed:
    return Handed(line(29), layer, "GRUCell", cut, kept)


EVENTS = run(of(29, 0), None, of(29, 0), of(14, 0))
HEALTHY = [
    run(*5 * [of(0, 29)]),
    run(*5 * [of(2, 27)]),  # every tenth step is cut
    run(*5 * [of(2, 0)]),  # too few steps to be called a loop over time
    run(of(29, 0), of(29, 0)),
    run(of(29, 0), of(29, 0), of(0, 29), *3 * [of(29, 0)]),
    run(of(29, 0), of(29, 0), of(29, 0, "model.other")),
]
