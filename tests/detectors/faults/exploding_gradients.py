from premortem.events import Clip
from tests.detectors.rehearsal import Rehearsal, line


def run(*, std=800.0, norm=1e5, clipped=False, scale=1.0):
    play = Rehearsal()
    play.model("0.weight", "2.weight", "4.weight")
    play.optimizer(1, 2, 3, kind="SGD")
    for _ in range(4):
        play.zero()
        play.forward()
        play.layer("model.0", order=0, input_std=scale, input_max=3 * scale, output_std=std**0.3)
        play.layer("model.2", order=1, output_std=std**0.6)
        play.layer("model.4", order=2, last=True, output_std=std)
        play.loss(500.0, classes={0.0: 8, 1.0: 8, 2.0: 8, 3.0: 8})
        play.backward()
        if clipped:
            play.add(Clip(step=play.step, at=line(23), kind="norm", limit=1.0, norm=norm))
        play.stepped(kind="SGD", parameters=3, with_grad=3)
        play.stats(500.0, grad_norm=norm, weight_norm=20.0)
    return play.end()


EVENTS = run()
HEALTHY = [
    run(std=1.0, norm=5.0),
    run(clipped=True),
    run(scale=1000.0),  # the inputs are the cause
]
