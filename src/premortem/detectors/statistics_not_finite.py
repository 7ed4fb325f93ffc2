from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.detectors.shared.certificate import certainty, evidence, known, sentence
from premortem.events import BufferBroken


class StatisticsNotFinite(Detector):
    """A buffer that forward passes write, such as a running mean of batch norm, holds NaN or infinity.

    ## Why it matters
    In train mode batch norm does not use its running statistics, so the loss stays as it was. In eval mode it uses
    nothing else: every validation and the deployed model give NaN, and averages never recover from it.

    ## Usual causes
    One batch with NaN or very large values went through the model in train mode, also under `no_grad`: a calibration
    pass, a sanity check, a batch that was skipped afterwards.

    ## What to do
    Check that batch before it enters the model. Reset the statistics (`reset_running_stats()`) and collect them anew, or
    go back to a checkpoint from before.
    """

    card = Card("PM453", "statistics-not-finite", "numerics-nan", Severity.ERROR, sudden=True).explaining(
        "metric-not-finite"
    )
    listens = (BufferBroken,)

    def observe(self, event: BufferBroken) -> Findings:
        origin = event.origin if known(event.origin) else None
        birth = f" ({sentence(origin)})" if origin is not None else ""
        yield self.finding(
            event,
            f"`{event.buffer}` of {event.module} is not finite: in eval mode the model gives NaN{birth}",
            cause="A forward pass in train mode wrote it; averages never get rid of NaN or infinity.",
            remedy="Keep such a batch out of the model, and collect the statistics anew (`reset_running_stats()`).",
            module=event.module,
            parameter=f"{event.module}.{event.buffer}",
            at=origin.at if origin is not None else None,
            certainty=certainty(origin),
            **evidence(origin),
        )
