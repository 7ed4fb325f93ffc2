from premortem.events import Event, Experimented, Site

AT = Site("train.py", 30, "train")


def experimented(
    step: int, *, other: float | None = 0.0, order: float | None = 0.3, **facts: object
) -> Experimented:
    effects = {"other samples in the batch": other, "another order of the samples": order}
    known: dict[str, object] = {
        "noisy": False,
        "samples": 32,
        "shape": (32, 10),
        "batched": True,
        "same_input": False,
        "own_rows": False,
        "statistics": False,
        "source": None,
    }
    return Experimented(
        step=step,
        at=AT,
        model=1,
        name="model",
        effects={name: effect for name, effect in effects.items() if effect is not None},
        **{**known, **facts},
    )


def asked(**facts: object) -> list[Event]:
    return [experimented(2, **facts), experimented(5, **facts)]


EVENTS = asked()
HEALTHY: list[list[Event]] = [
    asked(order=0.0),
    asked(other=0.2),  # samples look at each other: another matter
    asked(order=None),  # nothing is known
    asked(noisy=True),
    asked(own_rows=True),  # an ensemble
    asked(same_input=True),  # the whole data set, with a parameter for each sample
    [experimented(2), experimented(5, order=0.0)],
]
