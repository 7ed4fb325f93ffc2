"""Fine-tuning of weights in bfloat16, at a rate that is too small for them."""

from premortem.events import Custody, Link, OptimizerStep, RunEnded


def audit(step: int, still: float | None, rate: float = 3e-5, owners: tuple[int, ...] = (1,)) -> Custody:
    link = Link(
        key=1, name="net.weight", model=1, numel=4096, trainable=True, ran=True, ran_without_grad=False, reached=True,
        graded=True, gradient=0.1, owners=owners, moved=True, weight=1.0, update=0.001, loaded=False, trained=False,
        born_after=False, hidden="", head=False, still=still,
    )  # fmt: skip
    return Custody(step=step, at=None, optimizer=1, links=(link,), strangers=(), lrs=(rate,), uphill=None)


def stepped(step: int, rate: float) -> OptimizerStep:
    return OptimizerStep(step=step, at=None, optimizer=1, kind="AdamW", lrs=(rate,))


def run(audits: list[Custody], *steps: OptimizerStep) -> list[object]:
    return [*audits, *steps, RunEnded(step=200)]


EVENTS = run([audit(step, 0.95) for step in range(1, 6)])
AFTER_A_WARM_UP = run(
    [*(audit(step, 0.99, rate=1e-6 * step) for step in range(1, 9)), audit(64, 0.99), audit(128, 0.97)]
)
HEALTHY = [
    run([audit(step, 0.4) for step in range(1, 6)]),
    run([audit(step, None) for step in range(1, 6)]),  # in 32 bits, or an optimizer that is not torch's
    run([audit(step, 0.95) for step in range(1, 4)]),  # too few to tell
    run([*(audit(step, 0.95) for step in range(1, 4)), audit(4, 0.5), audit(5, 0.95)]),
    run([audit(step, 1.0, rate=0.0) for step in range(1, 9)]),
    run([audit(step, 0.99, owners=(2,)) for step in range(1, 9)]),  # a copy that another optimizer steps
    run([audit(step, 0.99, rate=1e-6 * step) for step in range(1, 9)]),  # the rate is on its way up,
    # and where it arrives weights move
    run([audit(step, 0.99, rate=1e-6 * step) for step in range(1, 9)], stepped(500, 1e-3)),
]
