"""The findings of a run so far: each once, with the capsule and the proof that belong to it, and folded to root causes."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from premortem.amounts import short
from premortem.cards import Card, identity
from premortem.convictions.pairs import is_same, proved
from premortem.derived.folding import fold, without_surpassed
from premortem.derived.proved import at_the_proved_line, of_which, with_proofs
from premortem.events import Suspicion
from premortem.findings import Certainty, Finding, Where
from premortem.settings import Silence
from premortem.settings import shown as shown_findings

MOST_OF_A_PLACE = 12  # findings of one code; after these, more of the same only bury what else there is


class FoundSoFar:
    """Keeps what detectors have found."""

    def __init__(
        self,
        cards: Mapping[str, Card],
        silence: Silence,
        patched: Callable[[Finding], Finding] = lambda finding: finding,  # with an edit of the source
    ) -> None:
        self._cards = dict(cards)
        self._patched = patched
        self._suspicions: tuple[Suspicion, ...] = ()  # of lint, about the script's own files
        self._silence = silence
        self.all: list[Finding] = []  # before folding
        self._known: set[tuple[Any, ...]] = set()
        self._counts: Counter[tuple[str, Where]] = Counter()  # findings of each code at each place
        self.capsules: list[Path] = []  # of steps that failed,
        self._proofs: list[dict[str, Any]] = []  # ... and what came of running them again

    def add(self, finding: Finding) -> Finding | None:
        """The finding as it is kept; None if it is known, or one of too many."""
        same = self._identity(finding)
        if same in self._known:
            return None
        self._known.add(same)
        self._counts[finding.code, finding.where] += 1
        if self._counts[finding.code, finding.where] > MOST_OF_A_PLACE:
            return None  # `count_the_rest` says how many
        (finding,) = with_proofs([with_capsule(finding, self.capsules)], self._proofs, self._cards)
        finding = at_the_proved_line(finding, self.all)
        finding = self._patched(self._at_its_place(self._silence.apply(finding)))
        # At the place that lint reports for it, it may be one that is known.
        here = self._identity(finding)
        if any(is_same(known, finding) for known in self.all) or (here != same and here in self._known):
            return None
        self._known.add(here)
        self.all = [*without_surpassed(self.all, finding), finding]
        return finding

    def folded(self, finding: Finding) -> Finding | None:
        """The root cause that this one is; None where a finding before it explains it."""
        same = self._identity(finding)
        return next((f for f in self.shown if self._identity(f) == same), None)

    def prove(self, record: dict[str, Any]) -> list[Finding]:
        """A step was run again. Findings about it, with what was proved."""
        before = self.shown
        self._proofs.append(record)
        self.all = list(map(self._patched, with_proofs(self.all, self._proofs, self._cards)))
        return [finding for finding in self.shown if finding not in before]

    def read(self, suspicions: tuple[Suspicion, ...]) -> list[Finding]:
        """Lint has read the script. Findings that have moved to another line for it, or weigh more."""
        before = {(finding.code, finding.severity, finding.where) for finding in self.shown}
        self._suspicions = suspicions
        self._cards |= {one.card.code: one.card for one in suspicions}
        # Several places where a mistake showed are one place where it stands.
        found = [self._at_its_place(finding) for finding in self.all]
        self.all = list({self._identity(finding): finding for finding in found}.values())
        return [f for f in self.shown if (f.code, f.severity, f.where) not in before]

    def introduce(self, cards: Iterable[Card]) -> None:
        """Of units that are no detectors, before what they say is added."""
        self._cards |= {card.code: card for card in cards}

    def _at_its_place(self, finding: Finding) -> Finding:
        """Where lint reports it; a comment there silences it, as one does where it was seen."""
        placed = proved(finding, self._suspicions)
        return placed if placed is finding else self._silence.apply(placed)

    def promise(self, capsule: Path) -> None:
        self.capsules.append(capsule)
        self.all = [with_capsule(finding, self.capsules) for finding in self.all]

    def withdraw(self, capsule: Path) -> None:
        """It could not be written after all: no finding points to it."""
        self.capsules = [path for path in self.capsules if path != capsule]
        self.all = [without_capsule(finding, capsule) for finding in self.all]

    def unexplained(self, capsule: Path) -> bool:
        """Whether running that step again would show anything new."""
        failures = [f for f in self.shown if f.evidence.get("capsule")]
        about = [f for f in failures if f.evidence["capsule"] == str(capsule)]
        if any(f.evidence.get("indices") for f in about) and not self._run_again(capsule):
            return True  # whether the step is finite without these samples, so that the run can go on without them
        # Of a failure that no finding is about, the one before it is taken to be the cause.
        return not any(f.certainty is Certainty.PROVED and f.evidence.get("op") for f in about or failures)

    def _run_again(self, capsule: Path) -> bool:
        return any(proof.get("capsule") == str(capsule) for proof in self._proofs)

    def count_the_rest(self) -> list[str]:
        """The last finding at a place where there were too many says how many more there were."""
        sentences = []
        for (code, where), number in self._counts.items():
            last = next((f for f in reversed(self.all) if (f.code, f.where) == (code, where)), None)
            if number > MOST_OF_A_PLACE and last is not None:
                more = number - MOST_OF_A_PLACE
                counted = replace(last, message=f"{last.message} (and {more} more)").with_evidence(more=more)
                self.all = [counted if f is last else f for f in self.all]
                sentences.append(f"{code} {last.name}: and {more} more")
        return sentences

    @property
    def shown(self) -> list[Finding]:
        """Root causes, errors first."""
        return shown_findings(fold(self.all, self._cards))

    @property
    def silenced(self) -> int:
        """Root causes that the settings or a comment silence."""
        return len(fold(self.all, self._cards)) - len(self.shown)

    def _identity(self, finding: Finding) -> tuple[Any, ...]:
        return identity(finding, self._cards.get(finding.code))


def with_capsule(finding: Finding, capsules: Sequence[Path]) -> Finding:
    """A finding about numbers points to the capsule of the step it is about."""
    if "capsule" in finding.evidence or not finding.family.startswith(("numerics", "exploding")):
        return finding
    step = of_which(finding, map(step_of, capsules))
    path = next((path for path in capsules if step_of(path) == step), None)
    if path is None:
        return finding
    remedy = f"{finding.remedy} {how_to_replay(path)}".strip()
    return replace(finding, remedy=remedy, evidence={**finding.evidence, "capsule": str(path)})


def without_capsule(finding: Finding, capsule: Path) -> Finding:
    if finding.evidence.get("capsule") != str(capsule):
        return finding
    rest = {name: fact for name, fact in finding.evidence.items() if name != "capsule"}
    return replace(finding, remedy=finding.remedy.replace(how_to_replay(capsule), "").strip(), evidence=rest)


def how_to_replay(capsule: Path) -> str:
    return f"`premortem replay {short(capsule)}` runs that step again, with one thing changed at a time."


def step_of(capsule: Path) -> int:
    return int(capsule.name.rpartition("-")[2])


def working_folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # it was deleted under us
        return ""
