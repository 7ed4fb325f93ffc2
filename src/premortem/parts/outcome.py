"""What came of an evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from premortem.parts.metrics import Refused


@dataclass(slots=True)
class Tally:
    """One measure, summed up in float64."""

    sum: float = 0.0
    samples: int = 0
    batches: int = 0  # with at least one value that holds
    left_out: dict[str, int] = field(default_factory=dict)  # perfect, leaked, broken
    sentences: dict[str, str] = field(default_factory=dict)  # the first of each
    _before: int = 0

    def add(self, value: float, weight: int) -> None:
        self.sum += value * weight
        self.samples += weight

    def leave_out(self, count: int, kind: str, sentence: str) -> None:
        self.left_out[kind] = self.left_out.get(kind, 0) + count
        self.sentences.setdefault(kind, sentence)

    def end_batch(self) -> None:
        self.batches += self.samples > self._before
        self._before = self.samples

    @property
    def mean(self) -> float:
        return self.sum / self.samples

    @property
    def notes(self) -> list[str]:
        return [f"{count:,} {kind}: {self.sentences[kind]}" for kind, count in self.left_out.items()]

    def against(self, minimum: float, samples: int, total: int, failures: Sequence[str]) -> str:
        """Why this measure has no value; empty when it has one."""
        if leaked := self.left_out.get("leaked"):
            return f"in {leaked:,} of {samples:,} samples {self.sentences['leaked']}"
        because = f" ({'; '.join([*self.notes, *failures[:1]])})" if self.left_out or failures else ""
        if not total:
            return "the loader gave no batch"
        if self.batches < minimum * total - 1e-9:
            return f"only {self.batches}/{total} batches gave a value, and {100 * minimum:g} % are needed{because}"
        if self.samples < minimum * samples - 1e-9:
            return f"only {self.samples:,} of {samples:,} samples gave a value, and {100 * minimum:g} % are needed{because}"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Of one evaluation. `values` holds what is true, `refused` what has no value, and why. `print` shows it in words."""

    values: dict[str, float]
    refused: tuple[Refused, ...]
    valid: int  # batches that ran
    total: int
    samples: int
    failures: tuple[str, ...]  # one sentence for each batch that did not run
    notes: tuple[str, ...]  # samples that were left out of a mean, and why

    @property
    def batches(self) -> str:
        return f"{self.valid}/{self.total} batches"

    def __str__(self) -> str:
        lines = [f"{self.batches}, {self.samples:,} samples"]
        lines += [f"{name} {value:.6g}" for name, value in self.values.items()]
        lines += [f"{each.name} refused: {each.reason}" for each in self.refused]
        lines += self.notes
        lines += self.failures[:3]
        if len(self.failures) > 3:
            lines.append(f"and {len(self.failures) - 3} more batches failed")
        return "\n".join(lines)
