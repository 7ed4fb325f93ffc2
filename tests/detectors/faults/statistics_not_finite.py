"""The running variance of batch norm has become infinite."""

from premortem.events import BufferBroken, Event
from tests.detectors.rehearsal import Rehearsal


def run(broken: bool) -> list[Event]:
    play = Rehearsal()
    for _ in range(5):
        play.batch()
    if broken:
        play.add(BufferBroken(step=play.step, module="model.bn", buffer="running_var"))
    return play.end()


EVENTS = run(broken=True)
HEALTHY: list[list[Event]] = [run(broken=False)]
