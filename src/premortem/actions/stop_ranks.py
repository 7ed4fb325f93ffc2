"""stop, on many ranks: all of them at the same step, because those that go on alone would wait for ever.

The rank that has decided proposes a step so far ahead that every other one hears of it in time.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from premortem.findings import Finding

if TYPE_CHECKING:
    from premortem.probes.rank_comparison import RanksProbe


class Together:
    def __init__(self, ranks: RanksProbe) -> None:
        self._ranks = ranks

    def due(self, wanted: Finding | None) -> Finding | None:
        """At a step boundary: the finding at which to stop right now. Without other ranks that is what is wanted."""
        exchange = self._ranks.exchange
        if exchange is None or not exchange.alive:
            return wanted
        agreed = exchange.stop
        if agreed is None and wanted is not None:
            ahead = max(1, math.ceil(exchange.lead / max(self._ranks.step_seconds, 1e-4)))
            try:
                agreed = exchange.propose(
                    {
                        "step": self._ranks.session.step + ahead,
                        "finding": wanted.to_json(),
                        "rank": exchange.rank,
                    }
                )
            except RuntimeError:  # the store is gone, so the others are, or soon will be
                return wanted
        if agreed is None or self._ranks.session.step < agreed["step"]:
            return None
        finding = Finding.from_json(agreed["finding"])
        return finding if "ranks" in finding.evidence else finding.with_evidence(ranks=[agreed["rank"]])
