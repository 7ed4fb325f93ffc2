# ruff: noqa: F403 - the kinds of events, one file each
"""What happens in a run, as plain numbers and names: never a tensor, never a torch object.

Where the events of one training step come from, in the order they happen:

    for batch in loader:            # EpochStarted, BatchDrawn, EpochEnded
        out = model(batch)          # ModelSeen (once), Forward, LayerStats (audit)
        loss = criterion(out, y)    # LossCall
        loss.backward()             # Backward, GraphWalked (audit)
        clip_grad_norm_(...)        # Clip
        optimizer.step()            # OptimizerStep, Custody (audit), then StepStats a step or two later
        scheduler.step()            # SchedulerStep
        optimizer.zero_grad()       # ZeroGrad
    validate(model)                 # Forward..., then EvaluationEnded when training goes on
    torch.save(...); torch.load     # CheckpointSaved, FileLoaded, StateLoaded; Resumed at the step after
    print(...)                      # LogLine

`step` counts finished optimizer steps (of all optimizers together): an event with step 7 happened
while step 8 was being made, except OptimizerStep, Custody and StepStats, which carry the number of
their own step (the first is 1).

Objects of the run are known by small integers ("keys") that stay the same for the whole run:
`model`, `optimizer`, `scheduler`, `loader` and parameter keys.
"""

from premortem.events.backward import *
from premortem.events.base import *
from premortem.events.compared_rows import *
from premortem.events.data import *
from premortem.events.evaluation import *
from premortem.events.memory import *
from premortem.events.models import *
from premortem.events.ranks import *
from premortem.events.run import *
from premortem.events.source import *
from premortem.events.state import *
from premortem.events.update import *
