from dataclasses import replace

from premortem.events import Event
from tests.detectors.faults.rows_treated_differently import experimented


def asked(future: float | None, relation: str, *, tokens: bool = True) -> list[Event]:
    effects = {} if future is None else {"another future": future}
    return [
        replace(experimented(step), effects=effects, relation=relation, length=20, tokens=tokens)
        for step in (2, 5)
    ]


EVENTS = asked(0.4, "shifted")
UNSHIFTED = asked(0.0, "same")
HEALTHY: list[list[Event]] = [
    asked(0.0, "shifted"),
    asked(0.4, ""),
    asked(0.4, "same"),  # an auto-encoder
    asked(0.0, "same", tokens=False),
    asked(None, "shifted"),
]
