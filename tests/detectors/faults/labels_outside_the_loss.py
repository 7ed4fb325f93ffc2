from tests.detectors.rehearsal import Rehearsal


def run(fn, low, high, *, steps=4, **facts):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(steps):
        play.zero()
        play.forward()
        play.loss(
            fn=fn,
            **{
                "input_shape": (32,),
                "target_min": low,
                "target_max": high,
                "classes": {low: 16, high: 16},
                **facts,
            },
        )
        play.backward()
        play.stepped()
    return play.end()


BCE = "binary_cross_entropy_with_logits"
EVENTS = run(BCE, -1.0, 1.0)
MARGIN = run("soft_margin_loss", 0.0, 1.0)
STANDARDISED = run(BCE, -1.9, 1.7, classes=None, target_mean=0.0, target_is_data=True)
COUNTS = run("poisson_nll_loss", -2.0, 3.0, classes=None)
HEALTHY = [
    run(BCE, 0.0, 1.0),
    run(BCE, 0.1, 0.9),  # smoothed
    run("soft_margin_loss", -1.0, 1.0),
    run("poisson_nll_loss", 0.0, 7.0),
    run("cross_entropy", 0.0, 3.0),
    run(BCE, -1.0, 1.0, target_grad=True),
    run(BCE, 0.7, 1.2, classes=None, target_mean=0.95),  # noise around the label of real samples
]
