from premortem.events import Event, Group, LogLine, OptimizerBuilt, RunEnded


def run(
    losses: list[float], scores: list[float], *, label: str = "dice", optimizers: int = 1, second: str = ""
) -> list[Event]:
    events: list[Event] = [
        OptimizerBuilt(optimizer=key, kind="Adam", groups=(Group(0.1, 0.0, 0.0, (key,)),))
        for key in range(1, optimizers + 1)
    ]
    more = f" {second} #" if second else ""
    for number, (loss, score) in enumerate(zip(losses, scores, strict=True)):
        values = (
            ("epoch", str(number), float(number)),
            ("loss", str(loss), loss),
            (label, str(score), score),
        )
        events.append(
            LogLine(
                step=number,
                text=f"epoch {number} loss {loss} {label} {score}",
                template=f"epoch # loss # {label} #{more}",
                values=(*values, (second, "1.0", 1.0)) if second else values,
            )
        )
    return [*events, RunEnded(step=100)]


FALLS = [0.6, 0.5, 0.45, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1]
RISES = FALLS[::-1]

EVENTS = run(FALLS, FALLS)
DROPS = [
    0.45,
    0.2,
    0.03,
    0.0,
    0.01,
    0.0,
    0.0,
    0.02,
    0.0,
    0.0,
    0.0,
    0.0,
]  # to the ground at once, and stays there
A_POLICY = run([0.1] * len(DROPS), DROPS, label="reward")
HEALTHY: list[list[Event]] = [
    run(FALLS, RISES),
    run(RISES, FALLS),  # it diverges: another matter
    run(FALLS, FALLS, label="val_acc"),  # it overfits
    run(FALLS, FALLS, label="intrinsic reward"),  # the world becomes known
    run(FALLS, FALLS, optimizers=2),
    run(FALLS, FALLS, second="d_loss"),
    run(FALLS, [0.5, 0.49, 0.5, 0.48, 0.5, 0.47, 0.49, 0.48, 0.47]),
    run(FALLS[:5], FALLS[:5]),
]
