from premortem.events import EpochEnded, EpochStarted
from tests.detectors.rehearsal import Rehearsal


def run(*labels, epochs=2, same=False, **facts):
    """`labels`: of one batch after the other."""
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(epochs):
        play.add(EpochStarted(step=play.step, loader=1))
        for number, classes in enumerate(labels):
            play.zero()
            play.forward(fingerprint=0 if same else number)
            play.loss(
                **{
                    "input_op": "addmm",
                    "classes": classes,
                    "target_min": min(classes),
                    "target_max": max(classes),
                    **facts,
                }
            )
            play.backward()
            play.stepped()
        play.add(EpochEnded(step=play.step, loader=1, batches=len(labels)))
    return play.end()


ZEROS, ONES = {0.0: 32}, {1.0: 32}
EVENTS = run(*[ZEROS] * 4)
VALUES = run(*[ZEROS] * 4, fn="mse_loss", input_shape=(32,), target_is_data=True)
HEALTHY = [
    run(*[{0.0: 15, 1.0: 17}] * 4),
    run(ZEROS, ZEROS, ONES, ONES),  # sorted by class
    run(*[ZEROS] * 4, input_op="div"),  # a contrastive loss
    run(*[ONES] * 4, fn="binary_cross_entropy_with_logits", input_shape=(32,)),  # made on the spot
    run(*[ZEROS] * 4, same=True),  # one batch that is learned by heart
]
