from __future__ import annotations

from collections.abc import Iterable

from premortem.cards import Card
from premortem.detectors.base import THRICE, Detector
from premortem.detectors.shared.replicas import data_parallel, differ, odd, site
from premortem.events import RanksSeen
from premortem.findings import Finding, Severity


class StatisticsApart(Detector):
    """Running statistics (batch norm) differ between the ranks, and nothing brings them together.

    ## Why it matters
    In evaluation every rank has a model of its own, and the checkpoint has the statistics of one rank's data only.

    ## Usual causes
    `DistributedDataParallel(..., broadcast_buffers=False)` with ordinary batch norm.

    ## What to do
    Leave `broadcast_buffers` on, or convert the model with `nn.SyncBatchNorm.convert_sync_batchnorm`. Where each
    rank's share of the data is large this is a matter of taste, so it is a remark.
    """

    card = Card(code="PM486", name="statistics-apart", family="distributed", severity=Severity.INFO)
    listens = (RanksSeen,)

    def __init__(self) -> None:
        self._seen = 0

    def observe(self, event: RanksSeen) -> Iterable[Finding]:
        every = data_parallel(event)
        answers = [d.buffers for d in every]
        if not every or 0 in answers or any(d.apart_on_purpose for d in every):
            return
        self._seen = self._seen + 1 if differ(answers) else 0
        if self._seen == THRICE:
            yield self.finding(
                event,
                "the running statistics of the model differ between the ranks",
                cause="Buffers are not broadcast, so each rank collects the statistics of its own data.",
                remedy="Leave `broadcast_buffers` on, or convert the model to `nn.SyncBatchNorm`.",
                at=site(every[0].wrapped_at),
                ranks=odd(every, answers),
            )
