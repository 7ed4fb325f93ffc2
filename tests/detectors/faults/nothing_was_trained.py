from premortem.events import FileLoaded, Forward, Group, OptimizerBuilt, OptimizerStep, RunEnded, RunStarted

BUILT = OptimizerBuilt(optimizer=1, kind="Adam", groups=(Group(1e-3, 0.0, 0.0, (1, 2)),))
FILE = FileLoaded(
    path="runs/last.pt", keys=("model", "epoch"), counters=(("epoch", 12),), tensors=4, written=1.7e9
)
FORWARD = Forward(model=1, grad=False, training=False, noisy_train=0, noisy_eval=0, samples=8)
END = RunEnded(reason="finished")
EVENTS = [RunStarted(argv=("train.py", "--epochs", "12")), BUILT, FILE, FORWARD, END]
STEP = OptimizerStep(step=1, optimizer=1, kind="Adam", lrs=(1e-3,))
HEALTHY = [
    [RunStarted(argv=("train.py", "--evaluate")), BUILT, FILE, FORWARD, END],
    [RunStarted(argv=("train.py",)), BUILT, FILE, FORWARD, STEP, END],
    [RunStarted(argv=("train.py",)), FILE, FORWARD, END],
    [RunStarted(argv=("train.py",)), BUILT, FORWARD, END],
    [RunStarted(argv=("train.py",)), BUILT, FILE, FORWARD, RunEnded(reason="crashed")],
]
