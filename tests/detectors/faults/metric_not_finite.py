"""The validation loss is NaN in every epoch, and the training loss falls."""

from premortem.events import EvaluationEnded, Event, HabitSeen, LogLine, NonFinite, NonFiniteComputed
from tests.detectors.rehearsal import Rehearsal, line


def run(
    text: str,
    label: str,
    number: str,
    *,
    evaluated: bool = True,
    loss: float = 0.5,
    trained: bool = True,
    known: tuple[int, ...] = (),  # epochs in whose evaluation the operation is seen that makes it
    broken: tuple[int, ...] = (0, 1, 2),
    counted: tuple[int, ...] = (),  # epochs whose evaluation is not reported
    called: str = "",  # before or after the line: the model, without gradients
) -> list[Event]:
    play = Rehearsal()
    play.model("0.weight")
    play.optimizer(1)
    for epoch in range(3):
        for _ in range(4):
            play.batch()
            play.stats(loss)
        if epoch in known:
            origin = NonFinite(step=play.step, at=line(31), stage="forward", value=None, op="div", sure=True)
            play.add(NonFiniteComputed(step=play.step, at=line(31), origin=origin))
        if called == "before":
            play.forward(grad=False, training=False)
        said = number if epoch in broken else "0.8"
        values = (("train_loss", "0.5", 0.5), (label, said, float(said)))
        play.add(LogLine(step=play.step, text=text, template=text, values=values))
        if called == "after":
            play.forward(grad=False, training=False)
        if evaluated and epoch not in counted:
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


def compared(*values: float, known: bool = True) -> list[Event]:
    """`if score > best_score`, and nothing is printed: what the loop holds when each evaluation begins."""
    play = Rehearsal()
    play.model("0.weight")
    play.optimizer(1)
    for value in values:
        for _ in range(4):
            play.batch()
            play.stats(0.5)
        if known:
            origin = NonFinite(step=play.step, at=line(31), stage="forward", value=None, op="div", sure=True)
            play.add(NonFiniteComputed(step=play.step, at=line(31), origin=origin))
        pair = (value, -1.0)
        play.add(
            HabitSeen(
                step=play.step, at=line(40), kind="record high", name="score", other="best", values=pair
            )
        )
    return play.end()


NAN = float("nan")
TEXT = "train loss # val loss #"
EVENTS = run(TEXT, "val_loss", "nan")
# A score, and numpy has warned once: it warns once about a line.
SCORE = run("train loss # val auc #", "val_auc", "nan", known=(0,))
# A score that is not called the evaluation's own.
UNNAMED = run("loss # f1 #", "f1", "nan", known=(1,), broken=(1, 2), called="before")
COMPARED = compared(NAN, NAN, NAN)
HEALTHY: list[list[Event]] = [
    compared(NAN, NAN, NAN, known=False),  # perhaps it stands for "not yet"
    compared(NAN, 0.5, NAN, 0.6),
    compared(0.4, 0.5),
    run("train loss # val auc #", "val_auc", "nan", known=(0,), broken=(0, 2)),  # it comes and goes
    run("train loss # val auc #", "val_auc", "nan", known=(0,), broken=(0, 2), counted=(1,)),
    run("train loss # val auc #", "val_auc", "0.5", known=(0, 1)),  # what was made did no harm
    # Of the episodes that ended so far there is none; printed after an update, and another rollout follows.
    run("score #", "score", "nan", known=(0,), called="before"),
    run("score #", "score", "nan", known=(0,), broken=(1, 2), called="after"),
    run("score #", "score", "nan", known=(0,), broken=(1, 2)),
    run(TEXT, "val_loss", "0.7"),
    run(TEXT, "val_loss", "nan", evaluated=False),  # not measured in this epoch
    run("train loss # best val loss #", "best_val_loss", "inf"),
    run("train loss # val auc #", "val_auc", "nan"),  # not defined where a class is missing
    run(TEXT, "val_loss", "nan", loss=float("nan")),  # then that is the news
    run(TEXT, "val_loss", "nan", trained=False),
    run("train loss # val loss improved from #", "improved", "inf"),  # what the best one began with
]
