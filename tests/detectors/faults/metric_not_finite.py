"""The validation loss is NaN in every epoch, and the training loss falls."""

from premortem.events import EvaluationEnded, Event, LogLine
from tests.detectors.rehearsal import Rehearsal


def run(
    text: str, label: str, number: str, *, evaluated: bool = True, loss: float = 0.5, trained: bool = True
) -> list[Event]:
    play = Rehearsal()
    play.model("0.weight")
    play.optimizer(1)
    for _ in range(3):
        for _ in range(4):
            play.batch()
            play.stats(loss)
        values = (("train_loss", "0.5", 0.5), (label, number, float(number)))
        play.add(LogLine(step=play.step, text=text, template=text, values=values))
        if evaluated:
            play.add(ended(play.step, trained))
    return play.end()


def ended(step: int, trained: bool) -> EvaluationEnded:
    return EvaluationEnded(
        step=step,
        model=1,
        forwards=4,
        samples=64,
        grad=False,
        noisy_train=0,
        training=False,
        judged=True,
        repeated=False,
        generator=False,
        weights=None,
        number=1,
        trained=trained,
    )


TEXT = "train loss # val loss #"
EVENTS = run(TEXT, "val_loss", "nan")
HEALTHY: list[list[Event]] = [
    run(TEXT, "val_loss", "0.7"),
    run(TEXT, "val_loss", "nan", evaluated=False),  # not measured in this epoch
    run("train loss # best val loss #", "best_val_loss", "inf"),
    run("train loss # val auc #", "val_auc", "nan"),  # not defined where a class is missing
    run(TEXT, "val_loss", "nan", loss=float("nan")),  # then that is the news
    run(TEXT, "val_loss", "nan", trained=False),
    run("train loss # val loss improved from #", "improved", "inf"),  # what the best one began with
]
