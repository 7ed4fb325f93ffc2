"""Two moments that should be one: what the resumed run has kept of the run it goes on from. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from premortem.proof.order import Heard

KEPT, LOST, NOTE = "kept", "lost", "note"


@dataclass
class Piece:
    """One part of the state."""

    name: str
    verdict: str
    detail: str = ""


@dataclass
class Comparison:
    pieces: list[Piece] = field(default_factory=list)
    steps: int = 0  # compared
    equal: int = 0  # ... and the same to the last bit, from the first on

    @property
    def lost(self) -> list[Piece]:
        return [piece for piece in self.pieces if piece.verdict == LOST]

    @property
    def exact(self) -> bool:
        return not self.lost and self.steps > 0 and self.equal == self.steps


def compare(whole: Heard, resumed: Heard) -> Comparison:
    then, now = whole.moment or {}, resumed.moment or {}
    first = whole.first or {"random": {}, "variables": {}}
    done = Comparison()
    steps = list(zip(whole.stepped, resumed.stepped, strict=False))
    done.steps = len(steps)
    done.equal = next((i for i, (a, b) in enumerate(steps) if not same_step(a, b)), len(steps))
    same = done.equal == done.steps > 0
    done.pieces += [
        weights(then, now),
        *buffers(then, now),
        *optimizers(then, now),
        *rates(then, now),
        *schedulers(then, now),
        *scaler(whole.scale, resumed.scale),
        *averages(then, now),
        *randomness(first["random"], then, now, unused=same),
        *data(then, now, unused=same),
        *counters(then, now),
        *variables(first["variables"], then, now),
    ]
    return done


def same_step(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return bool(a["weights"] == b["weights"] and a["loss"] == b["loss"])


def piece(name: str, kept: bool, detail: str = "") -> Piece:
    return Piece(name, KEPT if kept else LOST, "" if kept else detail)


def weights(then: dict[str, Any], now: dict[str, Any]) -> Piece:
    other = [name for name, bits in then["weights"].items() if now["weights"].get(name) != bits]
    if not other and then["parameters"] != now["parameters"]:
        return piece("weights", kept=False, detail="parameters of the optimizer differ")
    many = f"{len(other)} of {len(then['weights'])} differ, first `{other[0]}`" if other else ""
    return piece("weights", not other, many)


def buffers(then: dict[str, Any], now: dict[str, Any]) -> Iterator[Piece]:
    if not then["buffers"]:
        return
    other = [name for name, bits in then["buffers"].items() if now["buffers"].get(name) != bits]
    many = f"{len(other)} of {len(then['buffers'])} differ, first `{other[0]}`" if other else ""
    yield piece("buffers (batch-norm statistics)", not other, many)


def optimizers(then: dict[str, Any], now: dict[str, Any]) -> Iterator[Piece]:
    for index, old in enumerate(then["optimizers"]):
        new = now["optimizers"][index] if index < len(now["optimizers"]) else None
        name = f"optimizer state ({old['kind']})"
        if new is None:
            yield piece(name, kept=False, detail="there is no such optimizer")
        elif not new["state"] and old["state"]:
            yield piece(
                name, kept=False, detail=f"it starts without state; {len(old['state'])} entries are lost"
            )
        else:
            other = [key for key, entry in old["state"].items() if new["state"].get(key) != entry]
            many = f"{len(other)} of {len(old['state'])} entries differ, first `{other[0]}`" if other else ""
            yield piece(name, not other, many)


def rates(then: dict[str, Any], now: dict[str, Any]) -> Iterator[Piece]:
    for old, new in zip(then["optimizers"], now["optimizers"], strict=False):
        for key, label in (("rates", "learning rate"), ("decay", "weight decay")):
            if old[key] != new[key] or key == "rates":
                detail = f"{shown(old[key])} became {shown(new[key])}"
                yield piece(label, old[key] == new[key], detail)


def shown(values: list[Any]) -> str:
    few = sorted({f"{value:.6g}" if isinstance(value, float) else str(value) for value in values})
    return ", ".join(few[:3])


def schedulers(then: dict[str, Any], now: dict[str, Any]) -> Iterator[Piece]:
    for index, old in enumerate(then["schedulers"]):
        new = now["schedulers"][index] if index < len(now["schedulers"]) else None
        name = f"scheduler ({old['kind']})"
        if new is None:
            yield piece(name, kept=False, detail="there is no such scheduler")
            continue
        other = [key for key, value in old["values"].items() if new["values"].get(key) != value]
        detail = f"position {old['position']} became {new['position']}"
        if old["position"] == new["position"] and other:
            detail = f"`{other[0]}` was {old['values'][other[0]]}, is {new['values'].get(other[0], 'gone')}"
        counts = [key for key in other if key != "_step_count"]  # a count of calls, which nothing depends on
        yield piece(name, not counts, detail)


def scaler(then: float | None, now: float | None) -> Iterator[Piece]:
    if then is not None:
        yield piece(
            "gradient scaler", then == now, f"scale {then:g} became {now if now is not None else 'none'}"
        )


def averages(then: dict[str, Any], now: dict[str, Any]) -> Iterator[Piece]:
    for name, old in then["kept"].items():
        new = now["kept"].get(name)
        if new is None:
            continue  # whatever it was, the resumed run does not use the name (yet)
        other = [key for key, bits in old.items() if new.get(key) != bits]
        many = f"{len(other)} of {len(old)} differ, first `{other[0]}`" if other else ""
        yield piece(f"`{name}` (weights kept beside the model)", not other, many)


def randomness(
    first: dict[str, str], then: dict[str, Any], now: dict[str, Any], *, unused: bool
) -> Iterator[Piece]:
    """Of the generators that training draws from: they have moved since its first step."""
    drawn = [name for name, bits in then["random"].items() if first.get(name) != bits]
    other = [name for name in drawn if now["random"].get(name) != then["random"][name]]
    if other and unused:
        yield Piece(
            "random state", NOTE, f"of {', '.join(other)}: another, but these steps do not depend on it"
        )
    elif drawn:
        yield piece("random state", not other, f"of {', '.join(other)}")


def data(then: dict[str, Any], now: dict[str, Any], *, unused: bool) -> Iterator[Piece]:
    old, new = then["batch"], now["batch"]
    known = "None" not in {old["input"], new["input"]} and old["input"] and new["input"]
    same = known and old["input"] == new["input"]
    if old["index"] is not None and new["index"] is not None:
        detail = (
            f"the next batch of the epoch was number {old['index']}, the resumed run starts at {new['index']}"
        )
        # A loader that goes on in the middle of an epoch counts from there: its batch tells.
        yield piece("data position", bool(old["index"] == new["index"] or same), detail)
    if known and old["index"] == new["index"] and not unused:
        yield piece("data order", same, "the next batch holds other samples")


def counters(then: dict[str, Any], now: dict[str, Any]) -> Iterator[Piece]:
    new = dict(map(tuple, now["counters"]))
    for name, value in then["counters"]:
        if name in new:
            yield piece(f"counter `{name}`", new[name] == value, f"{value} became {new[name]}")


def variables(first: dict[str, str], then: dict[str, Any], now: dict[str, Any]) -> Iterator[Piece]:
    """Numbers that training had changed and that are back at what they were before its first step."""
    counted = {name for name, _ in then["counters"]}
    for name, value in then["variables"].items():
        again = now["variables"].get(name)
        if name not in counted and name in first and value != first[name] == again:
            yield piece(f"variable `{name}`", kept=False, detail=f"{value} became {again}")
