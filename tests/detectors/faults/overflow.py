from premortem.events import NonFinite
from tests.detectors.rehearsal import Rehearsal, line

INF = float("inf")


def run(*, op="exp", overflow=True, growth=0.99, bad=4, **end):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(12):
        play.zero()
        play.forward()
        play.loss(play.value * growth)
        play.backward()
        play.stepped()
        play.stats()
    for number in range(bad):
        play.zero()
        play.forward()
        if number == 0:
            detail = f"{op.lower()} of 104"
            play.add(
                NonFinite(
                    step=play.step,
                    at=line(22),
                    stage="forward",
                    value=INF,
                    op=op,
                    detail=detail,
                    overflow=overflow,
                )
            )
        play.backward(value=INF)
        play.stepped()
        play.stats(INF, worst=1)
    return play.end(**end)


EVENTS = run()
CONSTANT = run(
    bad=0,
    reason="crashed",
    error="RuntimeError",
    message="value cannot be converted to type at::Half without overflow",
)
HEALTHY = [
    run(bad=0),
    run(op="log", overflow=False),
    run(op="pow", growth=5.0),  # it grew step by step: divergence
]
