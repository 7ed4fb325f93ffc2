from premortem.events import LayerStats, NonFinite
from tests.detectors.rehearsal import Rehearsal

CLASSES = {0.0: 8, 1.0: 8, 2.0: 8, 3.0: 8}


def layer(play, order, mean, std, low, high, kind="Linear"):
    play.add(
        LayerStats(
            step=play.step,
            model=1,
            layer=f"model.{2 * order}",
            kind=kind,
            order=order,
            last=order == 1,
            grad=True,
            training=True,
            samples=32,
            input_mean=mean,
            input_std=std,
            input_min=low,
            input_max=high,
            output_mean=0.0,
            output_std=0.6 * std,
            output_min=-2.0 * std,
            output_max=2.0 * std,
            finite=True,
        )
    )


def run(*, scale=255.0, carried=0.3, start=14.0, end=1.39, steps=80, broken=0, kind="Linear"):
    """Inputs from 0 to `scale`; the loss falls to `end` in the first quarter of the run and stays there."""
    play = Rehearsal()
    play.optimizer(1, 2)
    for step in range(steps):
        play.zero()
        play.forward()
        if step % 20 == 0:
            layer(play, 0, 0.5 * scale, 0.3 * scale, 0.0, scale, kind)
            layer(play, 1, 0.5 * carried * scale, 0.4 * carried * scale, 0.0, carried * scale)
        play.loss(end + (start - end) * max(0.0, 1 - 4 * step / steps), classes=CLASSES)
        play.backward()
        play.stepped()
        play.stats()
    if broken:
        play.add(NonFinite(step=play.step, stage="forward", value=float("inf"), op="pow", overflow=True))
    for _ in range(broken):
        play.zero()
        play.stepped()
        play.stats(float("inf"), worst=1, weights_finite=False)
    return play.end()


EVENTS = run()
BROKE = run(broken=3)
# What a recurrent layer hands on is never larger than one, and its gates stay as they are.
GATED = {"scale": 3000.0, "carried": 0.0003, "start": 1.39, "end": 0.8}
SHUT = run(**GATED, kind="GRU")
TINY = run(scale=0.004, start=1.39)
HEALTHY = [
    run(**GATED),
    run(**{**GATED, "end": 0.4}, kind="LSTM"),  # it copes
    run(**{**GATED, "scale": 60.0}, kind="GRU"),
    run(scale=1.0, start=1.4, end=0.2),
    run(scale=1.0, start=1.39),  # it learns nothing, but for another reason
    run(end=0.2),  # the network copes
    run(carried=0.002, start=1.4),  # a normalisation follows at once
    run(scale=1.0, broken=3),
]
