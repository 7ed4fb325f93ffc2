"""Diagnoses that a rehearsal cannot make."""

# It runs in a temporary folder, for a few steps.
ALWAYS = frozenset(
    {
        "ephemeral-storage",
        "disk-too-full",
        "mirror-behind",
        "deadline-reached",
        "little-headroom",
    }
)

# Judged by how long epochs are and what follows what: a pass that was cut is no epoch, its metrics are those of a few
# batches, and the schedule runs faster than the steps.
WHEN_CUT = frozenset(
    {
        "accumulation-window-broken",
        "class-sorted-batches",
        "constant-labels",
        "data-changed-in-place",
        "fewer-samples-than-expected",
        "labels-numbered-differently",
        "learning-rate-stuck",
        "learning-rate-zero",
        "loader-exhausted",
        "metric-frozen",
        "metric-not-finite",
        "plateau-fed-non-finite",
        "plateau-wrong-mode",
        "reseeded-every-step",
        "same-batch-every-step",
        "saved-weights-never-change",
        "schedule-restarts",
        "scheduler-never-stepped",
        "scheduler-past-horizon",
        "scheduler-stepped-per-batch",
        "scheduler-stepped-per-epoch",
        "scheduler-stepped-twice",
        "step-never-called",
        "step-once-per-epoch",
        "train-and-eval-inputs-differ",
        "train-and-val-on-different-scales",
        "uninformative-labels",
    }
)
