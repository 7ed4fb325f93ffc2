from premortem.events import Event, Group, ModelSeen, OptimizerBuilt, OptimizerStep, Parameter


def run(*groups: tuple[float, int, int], leaf: str = "bias") -> list[Event]:
    """Groups of (decay, matrices, vectors); each matrix is of a layer, and so are the vectors while there are layers."""
    made, parameters, key, layers = [], [], 1, [0, 0]
    for decay, *numbers in groups:
        keys = []
        for kind, number in enumerate(numbers):
            for _ in range(number):
                name = f"model.{layers[kind]}.{leaf if kind else 'weight'}"
                parameters.append(Parameter(key, name, (8,) if kind else (8, 8), True))
                keys.append(key)
                key, layers[kind] = key + 1, layers[kind] + 1
        made.append(Group(1e-3, decay, 0.9, tuple(keys), 1e-8, numbers[0]))
    return [
        OptimizerBuilt(optimizer=1, kind="AdamW", groups=tuple(made)),
        ModelSeen(model=1, name="model", kind="Net", parameters=tuple(parameters)),
        OptimizerStep(step=1, optimizer=1, kind="AdamW", lrs=(1e-3,)),
    ]


def added_later() -> list[Event]:
    """The matrices come with their decay in a group of their own, before the first step."""
    built, seen, stepped = run((0.1, 0, 5), (0.0, 3, 0))
    (decayed, matrices) = built.groups
    later = OptimizerBuilt(optimizer=1, kind="AdamW", groups=(decayed, matrices._replace(weight_decay=0.1)))
    return [built, later, seen, stepped]


EVENTS = run((0.1, 0, 5), (0.0, 3, 0))
HEALTHY = [
    run((0.1, 3, 0), (0.0, 0, 5)),
    run((0.1, 3, 5)),
    run((0.1, 0, 1), (0.0, 3, 5)),  # a temperature
    run((0.1, 0, 3), (0.0, 3, 5)),  # scales on purpose: the biases are not decayed
    run((0.1, 0, 5), (0.1, 3, 0), (0.0, 2, 0)),
    run((0.0, 0, 5), (0.0, 3, 0)),
    run((0.1, 0, 5), (0.0, 3, 0), leaf="log_alpha"),
    added_later(),
]
