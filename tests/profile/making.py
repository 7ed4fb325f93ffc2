"""A table as a run would see it."""

from premortem.profile.alone import summarise
from premortem.profile.arrays import put, rows_of
from premortem.profile.sample import Sample


def sampled(table):
    """The sample of its rows, and what kind of rows they are."""
    rows = rows_of(table.astype("float32"), len(table))
    sample = Sample(rows.names)
    put(sample, rows, [0.0] * len(table), 0)
    return sample, rows.kind


def profiled(table, phase):
    sample, kind = sampled(table)
    return summarise(sample, "`model`", phase=phase, kind=kind)
