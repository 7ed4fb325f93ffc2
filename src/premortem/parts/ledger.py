"""What each term of a loss did."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class TermRecord:
    """One line of the ledger. All values are weighted: what the term adds to the total."""

    name: str
    value: float = math.nan  # in the latest step, also when it failed
    share: float = math.nan  # of what entered the latest total, the fallback included; by absolute value
    low: float = math.inf  # of the finite values so far
    high: float = -math.inf
    gradient_norm: float | None = None  # at the tensors handed to the loss, when it was last measured
    calls: int = 0
    failures: int = 0
    replaced: int = 0  # failures in which the fallback stood in
    left_out: int = 0  # failures in which nothing did
    cause: str = ""  # of the latest failure that was looked into
    causes: dict[str, int] = field(default_factory=dict)

    def add(self, value: float, gradient_norm: float | None) -> None:
        self.calls += 1
        self.value = value
        if math.isfinite(value):
            self.low, self.high = min(self.low, value), max(self.high, value)
        if gradient_norm is not None:
            self.gradient_norm = gradient_norm

    def fail(self, cause: str, *, replaced: bool) -> None:
        self.failures += 1
        self.replaced += replaced
        self.left_out += not replaced
        self.cause = cause
        self.causes[cause] = self.causes.get(cause, 0) + 1


@dataclass(slots=True)
class Ledger:
    """All terms, in the order in which they are added. `print(loss.ledger)` shows a table."""

    terms: dict[str, TermRecord]
    unattributed: int = 0  # steps in which the gradient was not finite and the terms had not been probed

    def __getitem__(self, name: str) -> TermRecord:
        return self.terms[name]

    def share_out(self, entered: Mapping[str, float]) -> None:
        """What entered the total: the term, or its fallback, or nothing."""
        total = sum(abs(value) for value in entered.values())
        for name, term in self.terms.items():
            term.share = abs(entered.get(name, 0.0)) / total if total else math.nan

    def __str__(self) -> str:
        head = ("term", "value", "share", "range", "gradient", "failed")
        rows = [head, *(_row(term) for term in self.terms.values())]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        lines += [f"{term.name}: {term.cause}" for term in self.terms.values() if term.cause]
        if self.unattributed:
            lines.append(
                f"{self.unattributed} steps had a non-finite gradient while the terms were not probed"
            )
        return "\n".join(lines)


def _row(term: TermRecord) -> tuple[str, ...]:
    span = f"{term.low:.4g} to {term.high:.4g}" if term.low <= term.high else "-"
    share = f"{100 * term.share:.0f} %" if math.isfinite(term.share) else "-"
    norm = "-" if term.gradient_norm is None else f"{term.gradient_norm:.3g}"
    return term.name, f"{term.value:.4g}", share, span, norm, f"{term.failures} of {term.calls}"
