"""A padding mask that hides the text and shows the padding."""

from typing import Any

from premortem.events import Event, PaddingMask


def masks(*, many: int = 4, **facts: Any) -> list[Event]:
    usual = {"shown": 120, "masked": 480, "shown_values": 1, "masked_values": 29}
    return [PaddingMask(step=step, **{**usual, **facts}) for step in range(many)]


EVENTS = masks()
FEATURES = masks(shown_values=1, masked_values=1, empty=True, full=True)
BY_HAND = masks(by="softmax")
GIVEN = masks(by="attn_mask")
HEALTHY: list[list[Event]] = [
    masks(shown=480, masked=120, shown_values=29, masked_values=1),
    masks(masked=0, masked_values=0, shown_values=29),
    masks(masked_values=1),  # all tokens are alike
    masks(many=1),
    [*masks(many=1), *masks(many=1, by="softmax")],
    [*masks(many=1), *masks(shown_values=29, masked_values=1)],
    masks(shown_values=1, masked_values=1, full=False, empty=True),
]
