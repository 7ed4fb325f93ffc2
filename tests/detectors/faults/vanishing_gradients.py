from tests.detectors.rehearsal import Rehearsal

DEPTH = 6
KEYS = tuple(range(1, DEPTH + 1))
FADING = tuple(10.0 ** (key - DEPTH - 1) for key in KEYS)  # 1e-6 in the first layer, 0.1 in the last
EVEN = (0.1,) * DEPTH


def run(norms=lambda step: FADING, *, fall=1.0):
    play = Rehearsal()
    play.model(*(f"{key}.weight" for key in KEYS))
    play.optimizer(*KEYS, kind="SGD")
    value = 2.3
    for step in range(1, 129):
        play.zero()
        play.forward()
        if step == 1:
            for key in KEYS:
                play.layer(f"model.{key}", order=key - 1, last=key == DEPTH)
        play.loss(value)
        play.backward()
        play.stepped(kind="SGD", parameters=DEPTH, with_grad=DEPTH)
        play.stats(value, grad_norm=0.1, keys=KEYS, grad_norms=norms(step))
        value *= fall
    return play.end()


EVENTS = run()
HEALTHY = [
    run(lambda step: EVEN),
    run(fall=0.99),
    run(lambda step: FADING if step < 20 else EVEN),  # residual branches that start at zero
]
