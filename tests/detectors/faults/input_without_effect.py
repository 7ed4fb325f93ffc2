from dataclasses import replace

from premortem.events import Custody, Event, Link
from tests.detectors.faults.rows_treated_differently import experimented


def link(*, ran: bool = True, reached: bool = False, loaded: bool = False) -> Link:
    return Link(
        key=7,
        name="model.encoder.weight",
        model=1,
        numel=64,
        trainable=True,
        ran=ran,
        ran_without_grad=False,
        reached=reached,
        graded=reached,
        gradient=1.0 if reached else None,
        owners=(1,),
        moved=False,
        weight=1.0,
        update=None,
        loaded=loaded,
        trained=False,
        born_after=False,
        hidden="",
        head=False,
    )


def run(ignored: tuple[str, ...], *links: Link) -> list[Event]:
    asked = [replace(experimented(step, order=0.0), ignored=ignored) for step in (2, 5)]
    return [*asked, *(Custody(step=step, optimizer=1, links=links) for step in range(5, 10))]


EVENTS = run(("image",), link())
HEALTHY: list[list[Event]] = [
    run((), link()),  # a layer that is merely not used
    run(("image",), link(reached=True)),
    run(("lengths",), link(ran=False)),  # an argument that is merely not used
    run(("image",), link(loaded=True)),
]
