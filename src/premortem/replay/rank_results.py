"""A step that several ranks made together: their results as one result, their capsules as one capsule. No torch.

Every rank and the director join the same results by this one rule, so all of them choose the same next trial. That
must be so: a trial contains the script's collectives, and a rank that made another one would wait for ever.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from premortem.changes.loss_terms import Term
from premortem.replay.trial import Result


def merge(results: Sequence[Result]) -> Result:
    """What came of one trial, by rank. Broken on one rank is broken; equal are only results that all are."""
    if len(results) == 1:
        return results[0]
    first = results[0]
    return Result(
        first.trial,
        losses=[{**loss, "rank": rank} for rank, each in enumerate(results) for loss in each.losses],
        gradients=_all(each.gradients for each in results),
        bad_gradients=_union(each.bad_gradients for each in results),
        bad_update=_union(each.bad_update for each in results),
        bad_buffer=any(each.bad_buffer for each in results),
        buffer=_all(each.buffer for each in results),
        samples=first.samples,
        low_precision=any(each.low_precision for each in results),
        low_weights=any(each.low_weights for each in results),
        low_policy=any(each.low_policy for each in results),
        terms=_terms(results),
        certificate=_born(results),
        error=_first_error(results),
        warnings=_said([each.warnings for each in results]),
        at=max(each.at for each in results),
        parts=list(results),
    )


def joined(manifests: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The manifest that a merged result is compared with; all that is not a rank's own is the first one's."""
    if len(manifests) == 1:
        return manifests[0]
    buffers = [manifest.get("buffer") for manifest in manifests]
    broken = next((buffer for buffer in buffers if buffer), None)
    reasons = [manifest["reason"] for manifest in manifests]
    return {
        **manifests[0],
        "reason": next((reason for reason in reasons if reason == "update"), reasons[0]),
        "losses": [{**loss, "rank": rank} for rank, each in enumerate(manifests) for loss in each["losses"]],
        "gradients": _all(str(each.get("gradients", "")) for each in manifests),
        "buffer": {**broken, "bits": _all(b["bits"] if b else "" for b in buffers)} if broken else None,
        "compiled": any(each.get("compiled") for each in manifests),
        "notes": _said([each["notes"] for each in manifests]),
    }


def _all(bits: Any) -> str:
    return " ".join(bits)


def _union(names: Any) -> list[str]:
    return list(dict.fromkeys(name for own in names for name in own))


def _said(sentences: Sequence[Sequence[str]]) -> list[str]:
    """A sentence of all ranks stands once; one of some ranks has their numbers before it."""
    lines = []
    for sentence in _union(sentences):
        ranks = [rank for rank, own in enumerate(sentences) if sentence in own]
        lines.append(sentence if len(ranks) == len(sentences) else f"{named(ranks)}: {sentence}")
    return lines


def named(ranks: Sequence[int]) -> str:
    """`rank 1`, `ranks 0, 2`."""
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


def _first_error(results: Sequence[Result]) -> str:
    failed = [(each.at, rank) for rank, each in enumerate(results) if each.error]
    return f"rank {min(failed)[1]}: {results[min(failed)[1]].error}" if failed else ""


def _born(results: Sequence[Result]) -> dict[str, Any] | None:
    """The birth certificate, with the rank where it happened.

    Where gradients are averaged, a NaN of one rank is in those of all, and comes to the others from outside: as data. So
    a rank with a broken loss is believed before others, and one that saw the operation before one that did not."""
    broken = any(not each.loss_finite for each in results)
    seen = [
        (rank, each.certificate)
        for rank, each in enumerate(results)
        if each.certificate is not None and not (broken and each.loss_finite)
    ]
    # Memory that no operation was seen to fill is memory into which other ranks have sent.
    born = [(r, c) for r, c in seen if c["stage"] not in ("data", "weights") and c["op"] != "empty"]
    if not broken:  # then what came from outside, and is not a variable, has come from another rank
        seen = [(r, c) for r, c in seen if c["stage"] == "data" and c["what"] != "input"]
    known = born or seen
    if not known:
        return None
    rank, found = known[0]
    # Ranks that hold pieces of layers rather than of batches are given the same samples.
    same = len(known) == len(results) and all(other["rows"] == found["rows"] for _, other in known)
    return {**found, "rank": rank, "ranks": [each for each, _ in known], "everywhere": same}


def _terms(results: Sequence[Result]) -> list[Term]:
    """Of each summand the value of the first rank where it is broken."""
    found: dict[int, Term] = {}
    for term in (term for each in results for term in each.terms):
        known = found.get(term.index)
        if known is None:
            found[term.index] = term
        elif known.healthy and not term.healthy:
            found[term.index] = replace(term)
    return list(found.values())
