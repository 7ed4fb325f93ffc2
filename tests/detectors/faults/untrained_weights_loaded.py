from premortem.events import FileLoaded, StateLoaded, WeightsSeen
from tests.detectors.rehearsal import Rehearsal, line


def run(*, made=(3, 3), other=None, held=False, changes=False, steps=40, read=True):
    """A teacher that is loaded from a file, and called in each step of the student's training."""
    play = Rehearsal()
    play.model("0.weight", key=1, name="student", first=1)
    play.model("0.weight", key=2, name="teacher", first=11)
    play.add(FileLoaded(step=0, at=line(8), path="/runs/teacher.pt", keys=("model",)))
    for key, layers in ((2, made), (3, other)):
        if layers is not None:
            play.add(
                StateLoaded(
                    step=0,
                    at=line(9),
                    target="module",
                    key=key,
                    name="teacher",
                    strict=True,
                    given=6,
                    wanted=6,
                    matched=6,
                    parameters=(11,),
                    from_file=read,
                    as_made=layers,
                )
            )
    play.optimizer(1, *((11,) if held else ()))
    for step in range(steps):
        play.forward(2, grad=False, tracked=False)
        if not step % 10:
            play.add(WeightsSeen(step=play.step, at=line(20), model=2, checksum=step if changes else 7))
        play.forward(1)
        play.backward(1)
        play.stepped(1)
    return play.end()


EVENTS = run()
HEALTHY = [
    run(made=(0, 3)),
    run(made=(2, 3)),  # fine-tuned in part
    run(held=True),  # it goes on to be trained
    run(changes=True),  # an average that follows the student
    run(other=(0, 3)),  # a fixed random network, and one that was trained beside it
    run(read=False),  # a copy of the first weights
    run(steps=20),
]
