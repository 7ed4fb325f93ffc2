from premortem.convictions.effect import Effect
from premortem.events import Event, ModelSeen


class RepeatedLayer(Effect):
    """The model that runs holds one layer in several places of a list, with one set of weights."""

    listens = (ModelSeen,)

    def seen(self, event: Event) -> str:
        if not isinstance(event, ModelSeen) or not event.repeats:
            return ""
        # The code says which list it is: the attribute that the reported call is assigned to, where that is known.
        most = max(event.repeats, key=lambda one: one.times)
        return f"`{most.place}` has {most.times} places and one {most.kind}, so one set of weights is trained for all"
