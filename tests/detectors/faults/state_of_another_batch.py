"""A recurrent model keeps its hidden state over shuffled batches."""

from dataclasses import replace

from premortem.events import Event, LoaderBuilt, StateCarried

LOADER = LoaderBuilt(
    step=0, loader=1, samples=800, batches=20, batch_size=40, shuffle=True, drop_last=False, workers=0
)
CARRIED = StateCarried(step=3, model=1, name="model", attributes=("hidden",), effect=0.3, batched=True)
EVENTS: list[Event] = [LOADER, CARRIED]
HEALTHY: list[list[Event]] = [
    [replace(LOADER, shuffle=False), CARRIED],
    [LOADER, replace(CARRIED, batched=False)],
    [LOADER],
]
