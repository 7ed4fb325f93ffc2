from premortem.events import LabelsWeighed, LogLine
from tests.detectors.rehearsal import Rehearsal

CLASSES = {0.0: 8, 1.0: 8, 2.0: 8, 3.0: 8}


def run(*, steps=12, level=1.39, fall=0.0, weighed=(), accuracies=(), beside=False, judge=False):
    play = Rehearsal()
    if judge:  # model 1 is shown data and what model 2 makes
        play.model("0.weight", "2.weight", key=1)
        play.model("0.weight", key=2, first=3)
        play.optimizer(3, key=2)
    play.optimizer(1, 2)
    for step in range(steps):
        play.zero()
        play.forward()
        if judge:
            play.forward(source=2)
        play.loss(level - fall * step / steps, classes=CLASSES)
        if beside:  # on the same line, what a teacher thinks of other samples
            play.loss(1.5, fn="mse_loss", target_mean=0.5, target_std=0.1)
        play.backward()
        play.stepped()
        if step == 9:
            for each in weighed:
                play.add(LabelsWeighed(step=play.step, **{"classes": 4, **each}))
    for value in accuracies:
        values = (("val_acc", f"{value}", value),)
        play.add(LogLine(step=play.step, text=f"val_acc {value}", template="val_acc #", values=values))
    return play.end()


NOTHING = {"training": True, "pairs": 512, "information": 0.8}
PLENTY = {"training": True, "pairs": 512, "information": 31.0}
EVALUATION = {"training": False, "pairs": 256, "information": 24.0}
SHIFTED = {**NOTHING, "shift": 1, "shifted_information": 29.0}

EVENTS = run(weighed=[NOTHING, EVALUATION])
OFF_BY_ONE = run(weighed=[SHIFTED])
FLAT = run(steps=160, weighed=[NOTHING])
JUDGED_BY_OTHERS = run(
    weighed=[{**PLENTY, "information": 70.0}, {**EVALUATION, "information": 0.4, "pairs": 300}]
)
AGAIN = {
    "training": True,
    "pairs": 400,
    "information": -1.0,
    "repeats": 200,
    "agreed": 0.26,
    "by_chance": 0.25,
}
TORN_APART = run(steps=60, weighed=[AGAIN])
CLICKS = run(steps=60, weighed=[{**AGAIN, "agreed": 0.6, "by_chance": 0.58}])
BY_HEART = run(steps=160, fall=1.2, weighed=[NOTHING], accuracies=(0.25, 0.27, 0.24, 0.26))
HEALTHY = [
    run(weighed=[PLENTY, EVALUATION]),
    # The number of each row, where the training has its class.
    run(
        weighed=[
            {**PLENTY, "information": 70.0},
            {**EVALUATION, "information": 0.4, "pairs": 300, "classes": 300},
        ]
    ),
    run(
        weighed=[PLENTY, {**EVALUATION, "information": 1.0, "pairs": 300}]
    ),  # little to find in training either
    run(weighed=[{**PLENTY, "information": 70.0}, {**EVALUATION, "information": 0.4, "pairs": 80}]),
    run(steps=160, weighed=[PLENTY]),
    run(steps=160, weighed=[NOTHING], judge=True),
    run(steps=160, fall=1.2, weighed=[NOTHING]),  # the network finds what a few pairs do not show
    run(steps=160, fall=1.2, weighed=[NOTHING], accuracies=(0.4, 0.6, 0.7, 0.8), beside=True),
    run(steps=160, fall=1.2, weighed=[NOTHING], accuracies=(0.4, 0.6, 0.7, 0.8)),
    run(weighed=[{**NOTHING, "pairs": 100}, EVALUATION]),
    run(weighed=[{**SHIFTED, "shifted_information": 4.0}]),
    run(
        steps=60, fall=0.25, weighed=[AGAIN]
    ),  # each letter has many next ones, and the network learns how frequent they are
]
