"""What was seen in a run, on disk: one SQLite file per run.

It can be read while it is written, and is whole after `kill -9`. The run writes through `Journal`;
everything that comes after (report, replay, a live page) reads through `Run`.
"""

from premortem.journal.folders import claim_folder, default_folder, rank_folder
from premortem.journal.read import Audit, Columns, Fault, Number, Run, Step
from premortem.journal.write import Journal, never_fatal

__all__ = [
    "Audit",
    "Columns",
    "Fault",
    "Journal",
    "Number",
    "Run",
    "Step",
    "claim_folder",
    "default_folder",
    "never_fatal",
    "rank_folder",
]
