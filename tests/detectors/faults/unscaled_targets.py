from premortem.events import NonFinite
from tests.detectors.rehearsal import Rehearsal


def run(*, mean=2000.0, spread=300.0, reached=0.05, steps=110, broken=0, far_out=()):
    """The predictions come to `reached` times the mean of the targets; `far_out`: steps with a sample far from all others."""
    play = Rehearsal()
    play.optimizer(1, 2)
    for step in range(steps):
        output = reached * mean * step / steps
        play.zero()
        play.forward()
        play.loss(
            (mean - output) ** 2 + spread**2,
            fn="mse_loss",
            input_shape=(32, 1),
            target_shape=(32, 1),
            input_mean=output,
            target_mean=mean,
            target_std=3000.0 if step in far_out else spread,
        )
        play.backward()
        play.stepped()
        play.stats()
    if broken:
        play.add(NonFinite(step=play.step, stage="forward", value=float("inf"), op="pow", overflow=True))
    for _ in range(broken):
        play.stepped()
        play.stats(float("inf"), worst=1)
    return play.end()


EVENTS = run()
BROKE = run(steps=4, broken=3)
HEALTHY = [
    run(mean=0.1, spread=1.0),
    run(reached=1.0),  # large, and reached
    run(mean=20.0, spread=300.0),  # on both sides of 0
    run(steps=50),
    run(mean=0.1, spread=1.0, steps=4, broken=3),
    run(mean=0.1, spread=1.0, steps=8, broken=3, far_out=(5,)),
]
