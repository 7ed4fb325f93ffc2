from premortem.events import Softmaxed
from tests.detectors.rehearsal import Rehearsal, line


def run(*, shape=(32, 4), inside=False, target=(32,), same=False, steps=4, samples=32, **facts):
    play = Rehearsal()
    play.optimizer(1, 2)
    for step in range(steps):
        play.zero()
        play.forward(fingerprint=1 if same else step, samples=samples)
        if shape:
            play.add(
                Softmaxed(
                    step=play.step, at=line(15), op="softmax", shape=shape, samples=samples, inside=inside
                )
            )
        play.loss(**{"fn": "nll_loss", "target_shape": target, **facts})
        play.backward()
        play.stepped()
    return play.end()


EVENTS = run()
INSIDE = run(inside=True)
BY_NUMBERS = run(shape=None, input_op="log_softmax", row_logsumexp=1.2)
HEALTHY = [
    run(shape=None, input_op="log_softmax", row_logsumexp=1e-6),
    run(shape=(32, 32)),  # similarities
    run(shape=(32, 1)),  # the items of one bag
    run(same=True),  # one graph, given whole at every step
    run(shape=(20, 32, 4), inside=True, samples=20, target=(32,)),  # time first
    run(steps=2),
]
