"""What has changed around a checkpoint since it was saved: configuration, code, versions, companions."""

from collections.abc import Mapping
from typing import Any

from premortem.amounts import some
from premortem.vault import surroundings
from premortem.vault.manifest import Manifest
from premortem.vault.report import ResumeReport


def compare_config(was: Mapping[str, Any], config: Any, report: ResumeReport) -> None:
    if config is None:
        return
    now = surroundings.flat_config(config)
    if not was:
        report.add("note", "config", "No configuration was saved with this checkpoint, so none is compared.")
        return
    for key in sorted({*was, *now}):
        if was.get(key) != now.get(key):
            a, b = (_shown(each[key]) if key in each else "nothing" for each in (was, now))
            report.add("warning", "config", f"{key}: it was {a}, it is {b} now.")


def _shown(value: Any) -> str:
    """Text in quotes: an empty one would not be seen, and "1" is not 1."""
    return f'"{value}"' if isinstance(value, str) else str(value)


def compare_code(manifest: Manifest, report: ResumeReport) -> None:
    now = surroundings.code()
    changed = [name for name in manifest.code if name in now and now[name] != manifest.code[name]]
    if changed:
        report.add("note", "code", f"Changed since: {some(changed)}.")
    here = surroundings.versions()
    for name in ("torch", "python"):
        a, b = (each.get(name, "") for each in (manifest.versions, here))
        if a.split(".")[:2] != b.split(".")[:2]:
            report.add("note", "versions", f"{name} was {a}, it is {b} now.")


def compare_companions(
    was: Mapping[str, str], companions: Mapping[str, Any] | None, report: ResumeReport
) -> None:
    """A VAE and the diffusion model on top of it, a tokenizer's embedding, a teacher: they belong together."""
    for name, companion in (companions or {}).items():
        if name not in was:
            report.add("note", name, f"The checkpoint does not say which `{name}` it was trained with.")
        elif was[name] != surroundings.weights_digest(companion):
            report.add(
                "error",
                name,
                f"This `{name}` is not the one that the checkpoint was trained with: its weights differ.",
                f"Load the `{name}` of the same run.",
            )
    for name in was:
        if name not in (companions or {}):
            report.add(
                "note", name, f"It was trained with a `{name}`; give it as companions= to have it compared."
            )
