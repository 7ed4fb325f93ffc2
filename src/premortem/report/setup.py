"""What was trained, with what and on what, and how it was started."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from premortem.amounts import count
from premortem.journal import Run
from premortem.report import words

MOST = 40


class Fact(NamedTuple):
    name: str
    text: str


def setup(run: Run) -> list[Fact]:
    """Models, optimizers, schedules, loaders and seeds, in the order they were seen."""
    makers = {
        "ModelSeen": _model,
        "OptimizerBuilt": _optimizer,
        "SchedulerBuilt": _scheduler,
        "LoaderBuilt": _loader,
        "Seeded": _seed,
        "FileLoaded": _loaded,
    }
    found: dict[Fact, None] = {}
    for kind, make in makers.items():
        for event in run.events(kind):
            found[make(event)] = None
    return list(found)[:MOST]


def _model(event: Mapping[str, Any]) -> Fact:
    counts = event["parameters"]
    if not isinstance(counts, Mapping):
        return Fact(f"model {event['name']}", event["kind"])
    frozen = counts["elements"] - counts["trainable"]
    shown = count(counts["elements"], "parameter") + (f", {frozen:,} of them frozen" if frozen else "")
    return Fact(f"model {event['name']}", f"{event['kind']}, {shown}")


def _optimizer(event: Mapping[str, Any]) -> Fact:
    groups = []
    for lr, decay, momentum, *_ in event["groups"]:
        text = f"lr {words.value(lr)}"
        text += f", weight decay {words.value(decay)}" if decay else ""
        groups.append(text + (f", momentum {words.value(momentum)}" if momentum else ""))
    fused = ", fused" if event.get("fused") else ""
    return Fact(f"optimizer {event['optimizer']}", f"{event['kind']}{fused}: {'; '.join(groups[:4])}")


def _scheduler(event: Mapping[str, Any]) -> Fact:
    horizon = f" over {event['horizon']:,} steps" if event.get("horizon") else ""
    options = ", ".join(f"{key} {words.value(value)}" for key, value in (event.get("options") or {}).items())
    return Fact(
        f"scheduler {event['scheduler']}", f"{event['kind']}{horizon}{f': {options}' if options else ''}"
    )


def _loader(event: Mapping[str, Any]) -> Fact:
    samples = count(event["samples"], "sample") if event["samples"] is not None else "a stream"
    batch = f" in batches of {event['batch_size']}" if event["batch_size"] else ""
    order = "shuffled" if event["shuffle"] else "in order"
    workers = count(event["workers"], "worker") if event["workers"] else "no workers"
    return Fact(f"loader {event['loader']}", f"{samples}{batch}, {order}, {workers}")


def _seed(event: Mapping[str, Any]) -> Fact:
    return Fact(f"seed of {event['library']}", str(event["seed"]))


def _loaded(event: Mapping[str, Any]) -> Fact:
    return Fact("read", str(event["path"]))


def command(meta: Mapping[str, Any]) -> str:
    policy = meta.get("policy", "protect")
    options = "" if policy == "protect" else f" --policy {policy}"
    return f"premortem run{options} {shlex.join(map(str, meta.get('argv') or ['?']))}"


def environment(meta: Mapping[str, Any], latest: Mapping[str, Any]) -> list[Fact]:
    known = latest.get("environment") or {}
    facts = [
        Fact("Python", str(known.get("python") or meta.get("python") or "")),
        Fact("torch", str(meta.get("torch") or "")),
        Fact("premortem", str(meta.get("premortem") or "")),
        Fact("devices", "; ".join(known.get("devices") or ())),
        Fact("processor", _processor(known)),
        Fact("system", str(known.get("platform") or "")),
        Fact("host", str(meta.get("host") or "")),
        Fact("git revision", str(meta.get("revision") or "")),
    ]
    facts += [
        Fact(name, str(text)) for name, text in (known.get("libraries") or {}).items() if name != "torch"
    ]
    facts += [Fact(name, str(text)) for name, text in (known.get("settings") or {}).items()]
    return [fact for fact in facts if fact.text]


def _processor(known: Mapping[str, Any]) -> str:
    cores = known.get("cores")
    return ", ".join(filter(None, [str(known.get("processor") or ""), f"{cores} cores" if cores else ""]))


def as_mapping(facts: Iterable[Fact]) -> dict[str, str]:
    """Facts of the same name are numbered."""
    found: dict[str, str] = {}
    for name, text in facts:
        key, number = name, 1
        while key in found:
            number += 1
            key = f"{name} ({number})"
        found[key] = text
    return found
