from premortem.events import LogLine
from tests.detectors.rehearsal import Rehearsal, line


def run(label, metrics, *, mode="min", cut=True):
    play = Rehearsal()
    play.optimizer(1, 2)
    play.schedule("ReduceLROnPlateau", mode=mode)
    rate = 0.001
    for epoch, metric in enumerate(metrics):
        for _ in range(3):
            play.batch(lrs=(rate,))
        play.forward(grad=False, training=False, samples=97)
        text = f"{metric:.4f}"
        play.add(
            LogLine(
                step=play.step,
                at=line(30),
                text=f"epoch {epoch} {label} {text}",
                template=f"epoch # {label} #",
                values=(("epoch", str(epoch), float(epoch)), (label, text, metric)),
            )
        )
        after = rate / 10 if cut and epoch == 3 else rate
        play.scheduled(rate, after, metric=metric, at=31)
        rate = after
    return play.end()


RISING = (0.5123, 0.6234, 0.7045, 0.7512, 0.7721, 0.7833)
FALLING = tuple(1 - value for value in RISING)

EVENTS = run("val_acc", RISING)
HEALTHY = [
    run("val_acc", RISING, mode="max"),
    run("val_loss", FALLING),
    run("val_loss", RISING),  # it overfits: what the scheduler is for
    run("val_acc", RISING, cut=False),
    run("score", RISING),  # who knows
]
