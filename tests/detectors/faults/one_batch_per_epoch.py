from premortem.events import EpochEnded, EpochStarted, LoaderBuilt


def run(samples=60, batch_size=64, *, shuffle=True, steps=1, epochs=4):
    built = LoaderBuilt(
        step=0,
        loader=1,
        samples=samples,
        batches=1,
        batch_size=batch_size,
        shuffle=shuffle,
        drop_last=False,
        workers=0,
    )
    passes = [
        event
        for at in range(epochs)
        for event in (
            EpochStarted(step=at * steps, loader=1),
            EpochEnded(step=(at + 1) * steps, loader=1, batches=1),
        )
    ]
    return [built, *passes]


EVENTS = run(20)
HEALTHY = [
    run(64),  # one batch on purpose
    run(900, 1024),  # likewise, with the next round number
    run(20, shuffle=False),
    run(20, steps=0),  # an evaluation
    run(20, epochs=2),
    run(1),  # one picture that is learnt by heart
]
