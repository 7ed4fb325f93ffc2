"""The facts of a rehearsal in short sentences, in reading order."""

import math

from premortem.amounts import count, share, size
from premortem.preflight.rehearsal.scene import Scene
from premortem.proof.page import verdict
from premortem.rehearsal.observations import Force, Rehearsed

_NAMES = {
    "data": "waiting for data",
    "forward": "forward",
    "backward": "backward",
    "optimizer": "optimizer step",
}


def facts_of(scene: Scene) -> list[tuple[str, str]]:
    facts = scene.facts
    rows = [("steps", steps(facts))]
    if facts.cut:
        rows.append(("cut short", "passes over the data ended early, to get to the evaluation and the save"))
    for chain in facts.chains:
        links = f"{chain.reached} reached by the loss, {chain.graded} with a gradient, {chain.owned} owned"
        rows.append(
            (
                f"custody: {chain.group}",
                f"{chain.parameters} parameters: {links}, {chain.moved} moved, {chain.evaluated} evaluated",
            )
        )
    rows.append(("one batch again", one_batch(facts)))
    if not (facts.twice.tried and math.isnan(facts.twice.difference)):
        rows.append(("evaluated twice", twice(facts)))
    rows.append(
        ("resume", verdict(scene.proof) if scene.proof is not None else f"not tried: {scene.no_proof}")
    )
    if facts.largest:
        rows.append(("largest batch", facts.largest))
    gpu = f", {size(facts.peak_cuda, digits=3)} on the GPU" if facts.peak_cuda is not None else ""
    rows.append(("peak memory", f"{size(facts.peak_rss, digits=3)} of the process, premortem included{gpu}"))
    rows += times(scene)
    rows += [("in force", sentence) for sentence in in_force(facts.force)]
    rows += forecast(scene)
    if note := facts.sandbox.get("note"):
        rows.append(("sandbox", note))
    return rows


def steps(facts: Rehearsed) -> str:
    made = f"{facts.steps} made"
    values = facts.losses
    losses = f", loss {float(values[0]):.4g} then {float(values[-1]):.4g}" if len(values) > 1 else ""
    seen = f"; {count(facts.evaluations, 'evaluation')} and {count(len(facts.saved), 'save')} seen"
    return (
        made
        + losses
        + (seen if facts.evaluations or facts.saved else "; no evaluation and no save seen in time")
    )


def one_batch(facts: Rehearsed) -> str:
    result = facts.overfit
    if not result.tried or result.first is None or result.best is None:
        return f"not tried: {result.why_not or 'the time was over'}"
    way = "falls" if result.best < result.first else "does not fall"
    return f"its loss {way}: {result.first:.4g}, at best {result.best:.4g} within {result.steps} steps"


def twice(facts: Rehearsed) -> str:
    result = facts.twice
    if not result.tried:
        return f"not tried: {result.why_not or 'no evaluation of the trained model was seen'}"
    noisy = f" (in train mode: {', '.join(result.noisy)})" if result.noisy else ""
    return (
        f"the same to the last bit{noisy}"
        if result.same
        else f"differs by up to {result.difference:.3g}{noisy}"
    )


def times(scene: Scene) -> list[tuple[str, str]]:
    split = scene.facts.split
    if split is None:
        return []
    parts = {name: getattr(split, name) for name in _NAMES}
    # Each is a median of its own, so that together they may come to a little more than the step.
    whole = max(split.step, sum(parts.values()))
    shares = ", ".join(f"{_NAMES[name]} {share(seconds, whole, 0)}" for name, seconds in parts.items())
    rest = whole - sum(parts.values())
    most = max(parts, key=lambda name: parts[name])
    bound = _NAMES[most] if parts[most] > rest else "the loss and the script's own code"
    return [
        ("time of a step", f"{span(split.step)}: {shares}, the rest {share(rest, whole, 0)}"),
        ("bound by", bound),
    ]


def in_force(force: Force) -> list[str]:
    found = []
    if force.autocast and force.looked:
        found.append(
            f"autocast ({', '.join(force.autocast)}): {force.low} of {force.low + force.full} products in 16 bits"
        )
    if force.scaler:
        found.append(f"gradient scaler: {count(force.scaled, 'loss', 'losses')} scaled")
    if force.convolutions and (force.last_weights or force.last_inputs):
        found.append(
            f"channels_last: weights of {force.last_weights} and activations of {force.last_inputs} "
            f"of {force.convolutions} convolutions"
        )
    if force.compiled:
        broken = f", {count(len(force.breaks), 'graph break')}" if force.breaks else ""
        found.append(f"torch.compile: {count(force.graphs, 'graph')}{broken}")
    if force.cache:
        faster = (
            f", a second access is {force.cache_speedup:.3g} times as fast" if force.cache_speedup else ""
        )
        found.append(f"cache `{force.cache}` of the dataset{faster}")
    return found


def forecast(scene: Scene) -> list[tuple[str, str]]:
    facts, rows = scene.facts, []
    epoch, total = scene.epoch_seconds, scene.total_seconds
    if epoch is not None and facts.training is not None:
        rows.append(("an epoch", f"{facts.training.batches} batches, about {span(epoch)}"))
    if scene.evaluation_seconds:
        rows.append(("an evaluation", f"about {span(scene.evaluation_seconds)}"))
    if facts.saved:
        rows.append(("a save", f"{size(facts.saved[-1].bytes, digits=3)} in {span(scene.save_seconds)}"))
    if total is not None:
        turns = count(facts.epochs, "epoch") if facts.epochs else count(facts.planned_steps or 0, "step")
        rows.append(("the whole run", f"about {span(total)} for {turns}, on this machine"))
    return rows


def span(seconds: float) -> str:
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
