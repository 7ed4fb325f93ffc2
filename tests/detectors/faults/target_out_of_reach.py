from tests.detectors.rehearsal import Rehearsal

STANDARDISED = {"target_min": -2.8, "target_max": 2.6, "target_mean": 0.02, "target_std": 1.0}


def run(*, steps=8, **facts):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(steps):
        play.zero()
        play.forward()
        play.loss(
            **{
                "fn": "mse_loss",
                "input_op": "relu",
                "input_shape": (32, 1),
                "target_shape": (32, 1),
                "target_is_data": True,
                **STANDARDISED,
                **facts,
            }
        )
        play.backward()
        play.stepped()
    return play.end()


EVENTS = run()
HEALTHY = [
    run(input_op="addmm"),
    run(target_min=0.0, target_max=5.0, target_mean=1.2, target_std=0.9),
    run(target_min=-0.1, target_max=5.0, target_mean=1.2, target_std=0.9),  # noise beyond the edge
    run(target_is_data=False),  # features of another network
    run(steps=5),
]
