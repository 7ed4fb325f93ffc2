from tests.detectors.rehearsal import Rehearsal


def run(*, spread=0.01, steps=150, root="Add", target=0.4):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(steps):
        play.zero()
        play.forward()
        play.loss(0.1, fn="mse_loss", input_spread=spread, target_spread=target, target_is_input=True)
        play.backward(root=root)
        play.stepped()
    return play.end()


EVENTS = run()
HEALTHY = [
    run(spread=0.3),
    run(steps=50),
    run(root="MseLoss"),  # nothing but the reconstruction: it may take its time
    run(target=0.0),
    run(spread=float("nan")),
]
