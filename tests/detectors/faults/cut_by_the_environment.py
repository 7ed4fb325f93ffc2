from premortem.events import (
    EnvironmentRead,
    EpochEnded,
    FileFacts,
    FilesRead,
    LoaderBuilt,
    RunEnded,
    Variable,
)
from tests.detectors.flows import profiled, rows, run, sample

FEW = sample(rows(32) * 10)
MANY = sample(rows(400, 3))
LOADER = LoaderBuilt(
    loader=1, samples=1440, batches=45, batch_size=32, shuffle=True, drop_last=False, workers=0
)


def told(name, value):
    return EnvironmentRead(variables=(Variable(name, value, "train.py", 9),))


EVENTS = [told("QUICK_ROWS", "32"), *run(FEW, MANY, length=32, total=1440)]
SWITCH = [told("DEBUG", "1"), *run(FEW, MANY, length=32, total=1440)]
SHARE = [told("PART", "0.05"), *run(sample(rows(72) * 4), MANY, length=72, total=1440)]
LEFT = EpochEnded(loader=1, batches=2, complete=False)
BATCHES = [told("LIMIT", "2"), LOADER, LEFT, LEFT, *run(sample(rows(400)), MANY, length=1440)]
FILE = FilesRead(step=1, files=(FileFacts("/d/pump.npz", rows=1200),))
SHARED = [told("WORLD_SIZE", "24"), FILE, *run(sample(rows(50) * 4), MANY, length=50)]
OF_A_FILE = [told("ROWS", "50"), FILE, *run(sample(rows(50) * 4), sample(rows(100, 3)), length=50)]


def settled(name, value):
    return FilesRead(step=1, files=(), settings=(Variable(name, value, "conf/config.yaml", 2),))


SETTING = [settled("data.max_samples", "32"), *run(FEW, MANY, length=32)]
BESIDE = [
    profiled(
        ("`x`", "training", FEW, {"length": 32, "total": 1440}),
        ("`u`", "training", sample(rows(400, 5)), {"length": 400}),
        ("`vx`", "evaluation", MANY, {"length": 400}),
    ),
    RunEnded(step=60, reason="finished"),
]
HEALTHY = [
    [settled("batch_size", "32"), *run(FEW, MANY, length=32)],
    [settled("n_train", "400"), *run(sample(rows(400) * 3), MANY, length=400, total=1440)],  # a split
    # A few labels beside many rows without: what the experiment is about.
    [settled("num_labeled_samples", "32"), *run(FEW, MANY, length=32)],
    [told("N", "32"), *BESIDE],
    [settled("max_samples", "32"), *BESIDE],
    [settled("train.n_max", "32"), *run(FEW, MANY, length=32)],
    [told("WORLD_SIZE", "2"), FILE, *run(sample(rows(960)), MANY, length=960)],
    [told("BATCH_SIZE", "16"), *run(FEW, MANY, length=32, total=1440)],
    [told("EPOCHS", "32"), *run(sample(rows(400) * 3), MANY, length=400)],
    [told("DEBUG", "1"), *run(sample(rows(400) * 3), MANY, length=400)],
    run(FEW, MANY, length=32, total=1440),
]
