from premortem.convictions.effect import Effect
from premortem.events import Event, ResultDropped


class DroppedResult(Effect):
    """The line ran, the new tensor differed from the old one, and the program went on with the old one."""

    listens = (ResultDropped,)

    def seen(self, event: Event) -> str:
        if isinstance(event, ResultDropped) and event.changed and self.suspicion.covers(event.at):
            return f"the line ran, and {event.changed} differed in the new tensor, which was thrown away"
        return ""
