"""Folds: each holds out rows that the fold before it was trained on, and the weights go on."""

from premortem.events import EpochEnded, Event, PartStarted

ROWS = 100
ANEW, KEPT = "anew", "kept"


def folds(
    how: str = "", shared: int = ROWS, within: int = 0, alike: int = 3 * ROWS, then: int = 0
) -> list[Event]:
    """Two of them. Model 1 goes on, or begins anew: as itself, as another model, or as another while the first is kept."""
    events: list[Event] = []
    step, weights = 0, {1: 10}
    for fold, (train, judge) in enumerate(((1, 2), (3, 4))):
        if fold and how == ANEW:
            weights = {1: 10}
        elif fold and how == KEPT:
            weights = {**weights, 2: 50}
        model = max(weights)
        for _ in range(2):
            # The second training has the rows that were held out first, and most of those of the first.
            sharing = {1: alike, 2: ROWS} if fold else {}
            events.append(
                PartStarted(step=step, loader=train, rows=4 * ROWS, shared=sharing, weights=dict(weights))
            )
            step += 25
            weights[model] += 1
            events.append(EpochEnded(step=step, loader=train, batches=25, complete=True))
            sharing = {1: shared, 2: then, 3: within} if fold else {1: within}
            events.append(
                PartStarted(step=step, loader=judge, rows=ROWS, shared=sharing, weights=dict(weights))
            )
            events.append(EpochEnded(step=step, loader=judge, batches=5, complete=True))
    return events


EVENTS = folds()
HEALTHY: list[list[Event]] = [
    folds(ANEW),
    folds(KEPT),  # a list of models, one for each fold
    folds(shared=5),
    folds(within=ROWS),  # the training accuracy
    folds(alike=0),  # tasks, one after the other, and after each the score of all of them
    folds(then=25),  # a half that is drawn in each epoch, and a look at the rest
    [each for each in folds() if not (isinstance(each, PartStarted) and each.loader == 2)],
]
