from tests.detectors.ranked import run

APART = {"values": (-1, -2), "sums": (0.0, 0.0)}
ALONE = {"group": (), "wrapped_at": ()}


def later(step):
    return {**ALONE, **(APART if step >= 8 else {})}


EVENTS = run(second={**APART, "gradients": (-1, -2), "called": False, "bare": True})
HEALTHY = [
    run(),
    run(second={"values": (-1, -2)}),  # rounded differently
    run(first={"apart_on_purpose": True}, second={**APART, "apart_on_purpose": True}),
    run(first=ALONE, second={**ALONE, **APART, "gradients": (-1, -2)}),  # an ensemble
    run(first={"group": (0,)}, second={**APART, "group": (1,)}),  # each its own model
    run(second={**APART, "signature": 8}),
]
