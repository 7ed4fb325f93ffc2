from premortem.events import Event, GraphWalked, RowWeights


def run(*seen: RowWeights | None) -> list[Event]:
    return [
        GraphWalked(step=n, parameters=(1,), other_leaves=0, ops=("Mean",), weighed=one)
        for n, one in enumerate(seen)
    ]


EVENTS = run(
    RowWeights(64, 2, uneven=True), None, RowWeights(64, 1, uneven=False), RowWeights(64, 3, uneven=True)
)
HEALTHY = [
    run(*5 * [RowWeights(64, 2, uneven=False)]),  # a mask
    run(*5 * [RowWeights(64, 9, uneven=True)]),
    run(*2 * [RowWeights(64, 2, uneven=True)]),
    run(*5 * [RowWeights(8, 0, uneven=True)]),  # too few rows
    run(*2 * [RowWeights(64, 1, uneven=True)], RowWeights(64, 60, uneven=True)),
]
