"""A replay saw more than the run did: the finding about that failure, made again of what was proved. Pure.

The live run, its findings file, the journal's readers and the sinks all get it from here, so they say the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from premortem.cards import Card
from premortem.derived.certificate import advice, data, evidence, sentence
from premortem.events import NonFinite, Operand, Samples, Site
from premortem.findings import Certainty, Finding, Where

# Diagnoses of one failure, of which the origin decides: data that is broken, numbers that grew too large, or neither.
_BY_ORIGIN = ("non-finite-input", "overflow", "non-finite-training")
_ABOUT = (
    *_BY_ORIGIN,
    "update-refused",
    "refused-too-often",
    "loss-not-finite",
    "statistics-not-finite",
    "masked-non-finite",
)
_LATER = 64  # steps after a failure in which findings are still about it
_OF_ORIGIN = ("op", "stage", "made", "dtype", "rows", "samples", "operands", "origin", "indices", "patch")


def with_proofs(
    findings: Iterable[Finding], records: Sequence[Mapping[str, Any]], cards: Mapping[str, Card]
) -> list[Finding]:
    """Each finding, as the replay of its capsule has it. `records` are what replays wrote, the newest last."""
    proofs = {PurePath(str(record.get("capsule"))).name: record for record in records}
    steps = {int(record.get("step", 0)): record for record in records}
    found = []
    for finding in findings:
        known = finding.evidence.get("capsule")
        step = None if known else of_which(finding, steps)  # it was found before the capsule was written
        record = proofs.get(PurePath(str(known)).name) if known else steps.get(step) if step else None
        found.append(finding if record is None else explained(finding, record, cards))
    return [at_the_proved_line(finding, found) for finding in found]


def at_the_proved_line(finding: Finding, others: Iterable[Finding]) -> Finding:
    """A failure whose operation is known and its line is not, at the line that was proved for the same operation in another step."""
    seen = finding.evidence
    # What it made is known where the operation was seen at its line.
    if (
        finding.name not in _ABOUT
        or not seen.get("op")
        or "made" in seen
        or finding.certainty is Certainty.PROVED
    ):
        return finding
    same = (seen["op"], seen.get("stage"))
    for other in others:
        facts = other.evidence
        if (
            other.certainty is Certainty.PROVED
            and other.where.line
            and (facts.get("op"), facts.get("stage")) == same
        ):
            return replace(finding, where=other.where).with_evidence(line_proved_in_step=other.step)
    return finding


def of_which(finding: Finding, failed: Iterable[int]) -> int | None:
    """Of the steps that failed, the one that a finding is about: it may be reported in the failed step, or a few steps later,
    when the failure was seen to stay. A refused step is that step and no other: not all that were refused are kept."""
    step, later = finding.step, 1 if finding.name == "update-refused" else _LATER
    return max((each for each in failed if each <= step + 1 and step <= each + later), default=None)


def explained(finding: Finding, record: Mapping[str, Any], cards: Mapping[str, Card]) -> Finding:
    """The same failure, with the origin that its replay has seen; as it was where that has proved nothing about it."""
    origin = origin_of(record)
    if (
        origin is None
        or finding.name not in _ABOUT
        or finding.family == "exploding"
        or origin.stage == "weights"
    ):
        return finding
    if origin.stage == "data" and finding.evidence.get("stage", "data") != "data":
        # The replay begins with the batch. What made it so was seen in the run: it is the better place.
        return replace(
            finding,
            remedy=f"{finding.remedy}{_rescue(record)}",
            evidence={**finding.evidence, "replayed": True},
        )
    card = next((card for card in cards.values() if card.name == _name(finding, origin)), None)
    if card is None:
        return finding
    at, where = origin.at, finding.where
    kept = {name: fact for name, fact in finding.evidence.items() if name not in _OF_ORIGIN}
    smallest = record.get("smallest")
    if isinstance(smallest, Mapping) and smallest.get("title"):
        kept["without_it"] = f"{smallest['title']}: {smallest.get('tells', '')}"
    return replace(
        finding,
        code=card.code,
        name=card.name,
        family=card.family if finding.name in _BY_ORIGIN else finding.family,
        certainty=Certainty.PROVED,
        message=f"{sentence(origin)}; {consequence(finding)}",
        cause=_cause(finding, origin),
        remedy=f"{advice(origin)}{_rescue(record)}",
        where=Where(
            at.file if at is not None else where.file,
            at.line if at is not None else where.line,
            origin.module or (where.module if at is None else None),
            where.parameter or origin.parameter,
        ),
        evidence={**evidence(origin), **kept, "replayed": True},
    )


def _rescue(record: Mapping[str, Any]) -> str:
    """Where the cause is a few samples: how to go on without them."""
    found = record.get("samples")
    if not isinstance(found, Mapping):
        return ""
    names = ", ".join(f"`{found['dataset']}[{index}]`" for index in found["indices"])
    return f" Without {names} the step is finite: `premortem run --quarantine` goes on without."


def _name(finding: Finding, origin: NonFinite) -> str:
    if finding.name not in _BY_ORIGIN:
        return finding.name
    if origin.stage == "data":
        return "non-finite-input"
    return "overflow" if origin.overflow else "non-finite-training"


def consequence(finding: Finding) -> str:
    """What it did to the run, without what began it."""
    seen, step = finding.evidence, finding.step
    batch = f" on batch {seen['batch']} of its epoch" if seen.get("batch") is not None else ""
    match finding.name:
        case "update-refused":
            return f"step {step} was refused{batch}"
        case "refused-too-often":
            return (
                f"{seen.get('total', 'many')} steps were refused, and {seen.get('finite_steps', 0)} were made"
            )
        case "loss-not-finite":
            return f"the loss of step {step} was not finite, though its gradients were"
        case "statistics-not-finite":
            return f"`{finding.where.parameter}` is not finite: in eval mode the model gives NaN"
        case "masked-non-finite":
            return finding.message
        case _:
            before = f"; the loss was {seen['before']:.4g} before" if seen.get("before") is not None else ""
            first = seen.get("first_step", step)
            if seen.get("comes_and_goes"):
                return f"it broke step {first} and others since{before}"
            return f"nothing was learnt from step {first} on{before}"


def _cause(finding: Finding, origin: NonFinite) -> str:
    if origin.stage == "data":
        return f"{data(origin)[0].upper()}{data(origin)[1:]} was not finite when the model got it; what computes with it is in order."
    if origin.stage == "backward":
        return "The forward pass was in order: this derivative is the first broken link. The failed step was run again, and it broke there again."
    if origin.stage == "update":
        return "The gradients were finite: the optimizer's own arithmetic is the first broken link. The failed step was run again, and it broke there again."
    return "What this operation was given was finite: it is the first broken link. The failed step was run again, and it broke there again."


def origin_of(record: Mapping[str, Any]) -> NonFinite | None:
    """The certificate of a replay's record. None when the failure did not come again, or was not seen to begin."""
    found = record.get("certificate")
    if not record.get("reproduced") or not isinstance(found, Mapping):
        return None
    line, file = found.get("line"), found.get("file")
    return NonFinite(
        step=int(record.get("step", 0)),
        at=Site(str(file), int(line)) if file and line else None,
        stage=str(found.get("stage", "")),
        value=None,
        op=str(found.get("op", "")),
        detail=str(found.get("detail", "")),
        made=str(found.get("made", "")),
        overflow=bool(found.get("overflow")),
        what=str(found.get("what", "")),
        rows=tuple(int(row) for row in found.get("rows", ())),
        samples=int(found.get("samples", 0)),
        source=_source(found.get("source")),
        module=str(found.get("module", "")),
        parameter=str(found.get("parameter", "")),
        dtype=str(found.get("dtype", "")),
        operands=tuple(map(_operand, found.get("operands", ()))),
        located=True,
        watched=True,
    )


def _source(found: object) -> Samples | None:
    if not isinstance(found, Mapping):
        return None
    return Samples(str(found["dataset"]), found["length"], tuple(int(each) for each in found["indices"]))


def _operand(found: Mapping[str, Any]) -> Operand:
    shape = tuple(int(size) for size in found["shape"])
    return Operand(str(found["name"]), str(found["dtype"]), shape, float(found["low"]), float(found["high"]))
