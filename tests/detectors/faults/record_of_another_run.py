from premortem.events import CheckpointSaved, FileLoaded, LogLine, OptimizerStep, RunEnded

FILE = FileLoaded(path="best.pt", keys=("model", "best_acc"), records=(("best_acc", 0.97),), tensors=4)
STEP = OptimizerStep(step=1, optimizer=1, kind="Adam", lrs=(1e-3,))


def line(epoch, value):
    return LogLine(
        text=f"epoch {epoch} val_acc {value}",
        template="epoch # val_acc #",
        values=(("epoch", str(epoch), float(epoch)), ("val_acc", str(value), value)),
    )


def run(*values, saved=False, file=FILE):
    events = [file, STEP, *(line(epoch, value) for epoch, value in enumerate(values))]
    return [*events, *([CheckpointSaved(path="best.pt", bytes=9)] if saved else []), RunEnded()]


EVENTS = run(0.4, 0.5, 0.6, 0.62)
HEALTHY = [
    run(0.4, 0.5, 0.6, 0.62, saved=True),
    run(0.96, 0.95, 0.96, 0.96),  # as good as the record, and not better
    run(0.4, 0.5),
    run(0.4, 0.5, 0.6, 0.62, file=FileLoaded(path="best.pt", keys=("model",), tensors=4)),
]
