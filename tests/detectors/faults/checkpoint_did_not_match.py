"""A checkpoint of a data-parallel model loaded with `strict=False`."""

from dataclasses import replace

from premortem.events import Event, FileLoaded, OptimizerStep, RunEnded, Site, StateLoaded

AT = Site("resume.py", 66, "restore")
FILE = FileLoaded(at=AT, path="/runs/last.pt", keys=("model", "epoch"))
STEP = OptimizerStep(step=1, optimizer=1, kind="SGD", lrs=(0.1,))
LOADED = StateLoaded(
    at=AT,
    target="module",
    key=1,
    name="model",
    strict=False,
    given=6,
    wanted=6,
    matched=0,
    missing=("conv.weight", "conv.bias", "fc.weight"),
    unexpected=("module.conv.weight", "module.conv.bias", "module.fc.weight"),
    would_match=6,
    prefix="-module.",
)
RAISED = replace(LOADED, strict=True, error="Error(s) in loading state_dict for Net")

EVENTS: list[Event] = [FILE, LOADED, STEP]

FITTING = replace(LOADED, given=1, matched=1, unexpected=(), would_match=0)
OTHER_WIDTH: list[Event] = [replace(FILE, tensors=6), replace(FITTING, reshaped=5), STEP]

HEALTHY: list[list[Event]] = [
    # only the embedding, on purpose: the others would have fitted
    [replace(FILE, tensors=6), FITTING, STEP],
    # a new head
    [replace(FILE, tensors=6), replace(FITTING, given=4, matched=4, reshaped=2), STEP],
    [FILE, replace(LOADED, strict=True, matched=6, missing=(), unexpected=(), would_match=0), STEP],
    # a backbone under a new head
    [
        FILE,
        replace(LOADED, matched=4, missing=("head.weight",), unexpected=("fc.weight",), would_match=0),
        STEP,
    ],
    # the encoder out of a larger file
    [FILE, replace(LOADED, given=12, matched=6, missing=(), would_match=0), STEP],
    # strict loading failed, what fits was loaded then
    [FILE, RAISED, replace(LOADED, matched=5, would_match=0), STEP],
    # a state that was filtered, and most of it fitted
    [FILE, replace(LOADED, given=6, matched=6, aliased=2, taken_at=0, would_match=0), STEP],
    # nothing is given to a part that wants nothing, or where no file was read
    [replace(FILE, tensors=6), replace(LOADED, given=0, wanted=0, matched=0, would_match=0), STEP],
    [replace(LOADED, given=0, missing=(), unexpected=(), would_match=0), STEP],
    # a stem for many small models: most of what is given fits
    [FILE, replace(LOADED, given=2, wanted=60, matched=2, would_match=0), STEP],
    # the error reaches the user, who sees it; without a crash of that kind nothing is said
    [FILE, RAISED, RunEnded(reason="interrupted")],
]
