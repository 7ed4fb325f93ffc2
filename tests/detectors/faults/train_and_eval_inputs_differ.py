from premortem.events import EvaluationEnded, StateLoaded
from tests.detectors.rehearsal import Rehearsal

ONE = (0.0, 1.0)


def run(
    *,
    taught=ONE,
    inputs=ONE,
    targets=ONE,
    outputs=(0.0, 0.9),
    loss=5.0,
    rounds=3,
    samples=32,
    lows=(-2.0, None),
    bursts=1.0,
):
    """Trained on inputs of mean 0 and deviation 1 and on targets as `taught`; the other arguments are those of the evaluations."""
    play = Rehearsal()
    play.optimizer(1, 2)
    for number in range(1, rounds + 1):
        for at in range(4):
            play.zero()
            width = bursts if at else 1.0  # of batches with a rare sample in them
            play.forward(input_mean=0.0, input_std=width, input_min=lows[0], samples=samples)
            shown = {"input_mean": taught[0], "input_std": 0.9 * taught[1]}
            play.loss(0.5, fn="mse_loss", target_mean=taught[0], target_std=taught[1], **shown)
            play.backward()
            play.stepped()
        away = {"grad": False, "training": False}
        play.forward(
            input_mean=inputs[0], input_std=inputs[1], input_min=lows[1], at=40, samples=samples, **away
        )
        judged = {"target_mean": targets[0], "target_std": targets[1]}
        play.loss(loss, fn="mse_loss", at=41, input_mean=outputs[0], input_std=outputs[1], **judged, **away)
        play.add(
            EvaluationEnded(
                step=play.step,
                model=1,
                forwards=1,
                samples=samples,
                noisy_train=0,
                judged=True,
                repeated=False,
                generator=False,
                weights=number,
                number=number,
                **away,
            )
        )
    return play.end()


def restored(*, inputs=(7.0, 7.0), loaded=True, forwards=30, shapes=5):
    """Trained as model 1; model 2 is built at the end, loaded, and tried out, without a loss function of torch's."""
    play = Rehearsal()
    play.model("0.weight", key=1, shapes=5)
    play.optimizer(1)
    for _ in range(8):
        play.zero()
        play.forward(input_mean=0.0, input_std=1.0, input_min=-2.0)
        play.backward()
        play.stepped()
    play.model("0.weight", key=2, first=11, shapes=shapes)
    if loaded:
        facts = {
            "target": "module",
            "key": 2,
            "name": "model",
            "strict": True,
            "given": 1,
            "wanted": 1,
            "matched": 1,
        }
        play.add(StateLoaded(step=play.step, parameters=(11,), **facts))
    away = {"grad": False, "training": True}
    for _ in range(forwards):
        play.forward(2, input_mean=inputs[0], input_std=inputs[1], input_min=-10.0, at=40, **away)
    facts = {
        "noisy_train": 0,
        "judged": False,
        "repeated": False,
        "generator": False,
        "weights": 1,
        "number": 1,
    }
    play.add(
        EvaluationEnded(step=play.step, model=2, forwards=forwards, samples=32 * forwards, **facts, **away)
    )
    return play.end()


EVENTS = run(inputs=(120.0, 60.0))
RESTORED = restored()
RAW_TARGETS = run(targets=(300.0, 80.0), loss=9e4)
NOT_NORMALISED = run(inputs=(0.45, 0.25), lows=(-2.0, 0.0))
LITTLE_SPREAD = run(inputs=(0.47, 0.06))
BOTH_RAW = run(inputs=(120.0, 60.0), targets=(40.0, 20.0), outputs=(20.0, 9.0))  # targets were standardised
HEALTHY = [
    run(inputs=(12.0, 1.0), taught=(2.0, 3.0), targets=(40.0, 3.0), outputs=(20.0, 3.0)),  # an extrapolation
    run(bursts=17.0),  # one batch in four is as those of the evaluation
    restored(inputs=ONE),
    restored(loaded=False),  # another model of the same kind
    restored(shapes=6),
    restored(forwards=2),
    run(inputs=(0.45, 0.25), lows=(-0.1, 0.0)),  # pixels, with a bit of noise in training
    run(inputs=(0.3, 0.6), lows=(-2.0, 0.0)),  # rectified, and as wide
    run(loss=0.6),
    run(inputs=(0.4, 1.5), loss=0.6),  # augmentation
    run(inputs=(120.0, 60.0), loss=0.5),  # no harm done
    run(targets=(300.0, 80.0), outputs=(300.0, 75.0), loss=2e3),  # both converted back
    run(inputs=(120.0, 60.0), rounds=1),
    run(inputs=(120.0, 60.0), samples=4),
]
