"""The events that a journal keeps."""

from premortem import events

# Events worth keeping besides the series of steps. All are rare: none is made in every step.
KEPT = (
    events.Autopsied,
    events.BatchSplit,
    events.CheckpointSaved,
    events.Clip,
    events.Custody,
    events.DataProfiled,
    events.DeadlineMet,
    events.EnvironmentRead,
    events.EpochEnded,
    events.EvaluationEnded,
    events.FileLoaded,
    events.LayerStats,
    events.LoaderBuilt,
    events.LogLine,
    events.MirrorSeen,
    events.ModelSeen,
    events.OptimizerBuilt,
    events.OutOfMemory,
    events.Resumed,
    events.SamplesBroken,
    events.SaveChecked,
    events.SchedulerBuilt,
    events.Seeded,
    events.StateLoaded,
    events.StepRefused,
    events.StorageSeen,
)
