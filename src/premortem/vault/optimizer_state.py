"""The state of an optimizer, given back to the parameters it belongs to: by name, not by position.

torch numbers parameters in the order in which the optimizer got them. A model whose layers were reordered, or whose
parameters are sorted into other groups, gets the moments of other layers, and nothing says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from premortem.amounts import some
from premortem.vault.report import ResumeReport
from premortem.vault.wrapping import bare, unwrapped

# One value for each element of the parameter; other state (Adafactor's rows) may have any shape.
_LIKE_THE_PARAMETER = {
    "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "momentum_buffer", "square_avg", "grad_avg", "acc_delta", "sum",
    "prev", "exp_inf", "ax",
}  # fmt: skip
# How a step is computed, not what it computes: the script knows its device.
_IMPLEMENTATION = {"foreach", "fused", "capturable", "differentiable"}
_NO_SETTING = {"params", "param_names", "initial_lr", *_IMPLEMENTATION}

Names = list[list[str]]  # group by group


@dataclass
class _Saved:
    """One parameter of the saved optimizer."""

    group: Mapping[str, Any]
    state: Mapping[str, Any]


def names_of(optimizer: Any, models: Mapping[str, Any]) -> Names:
    """What the optimizer's parameters are called in the models, "" where they are in none."""
    called: dict[int, str] = {}
    for piece, model in models.items():
        front = "" if len(models) == 1 else f"{piece}."
        for name, parameter in unwrapped(model).named_parameters(remove_duplicate=False):
            called.setdefault(id(parameter), front + bare(name))
    return [[called.get(id(each), "") for each in group["params"]] for group in optimizer.param_groups]


def could_be(state: Any, optimizer: Any) -> bool:
    """Whether the moments have the shapes of this optimizer's parameters, in whatever order."""
    if not isinstance(state, Mapping) or not isinstance(state.get("state"), Mapping):
        return False
    saved = sorted(shape for each in state["state"].values() if (shape := _shape(each)) is not None)
    shapes = sorted(tuple(each.shape) for group in optimizer.param_groups for each in group["params"])
    return saved == shapes


def names_in(
    state: Mapping[str, Any], weights: Sequence[tuple[str, tuple[int, ...]]], ours: Names
) -> Names | None:
    """What a stranger's file says of its parameters' names.

    torch writes them since 2.5 for an optimizer that was given named parameters. Otherwise: the weights in the same
    file are in the order of `model.parameters()`, and groups are filled by some rule that the script still follows.
    What follows from that is believed only if every number of parameters and every shape agrees."""
    groups = state["param_groups"]
    if all("param_names" in group for group in groups):
        return [[bare(str(name)) for name in group["param_names"]] for group in groups]
    guesses = [[[each for each in weights if each[0] in set(group)] for group in ours]]
    if len(groups) == 1:  # the model may have changed; what is not a statistic was a parameter
        guesses.append([[each for each in weights if not _is_buffer(each[0])]])
    for guess in guesses:
        if _agrees(state, guess):
            return [[name for name, _ in group] for group in guess]
    return None


def _agrees(state: Mapping[str, Any], guess: Sequence[Sequence[tuple[str, tuple[int, ...]]]]) -> bool:
    groups = state["param_groups"]
    if [len(group["params"]) for group in groups] != [len(group) for group in guess]:
        return False
    pairs = [
        (_shape(state["state"].get(number, {})), shape)
        for group, named in zip(groups, guess, strict=True)
        for number, (_, shape) in zip(group["params"], named, strict=True)
    ]
    return any(saved is not None for saved, _ in pairs) and all(
        saved in {None, shape} for saved, shape in pairs
    )


def mapped(
    saved: Mapping[str, Any],
    saved_names: Names | None,
    optimizer: Any,
    names: Names,
    report: ResumeReport,
    *,
    about: str,
    script_wins: bool,
) -> dict[str, Any] | None:
    """The saved state as this optimizer's own `load_state_dict` wants it; None when it cannot be given back."""
    by_key = _saved_by_key(saved, saved_names)
    keys = _keys(names) if saved_names is not None else _positions(names)
    if saved_names is None and not _same_layout(saved, names, report, about):
        return None
    state: dict[int, Any] = {}
    groups: list[dict[str, Any]] = []
    fresh: list[str] = []
    wrong: list[str] = []
    index = 0
    for group, group_keys, group_names in zip(optimizer.param_groups, keys, names, strict=True):
        found = [by_key[key] for key in group_keys if key in by_key]
        own = {key: value for key, value in group.items() if key != "params"}
        settings = _settings(found, own, report, about, script_wins=script_wins)
        first = index
        for parameter, key, name in zip(group["params"], group_keys, group_names, strict=True):
            held = by_key.get(key)
            if held is None:
                fresh.append(name or f"parameter {index}")
            elif _fits(held.state, tuple(parameter.shape)):
                if held.state:
                    state[index] = _like(parameter, held.state)
            else:
                wrong.append(name or f"parameter {index}")
            index += 1
        groups.append({**settings, "params": list(range(first, index))})
    if wrong:
        report.add("error", about, f"The moments of {some(wrong)} have another shape than the parameters.")
        return None
    if fresh and by_key:
        report.add(
            "warning",
            about,
            f"{len(fresh)} parameters are new to the optimizer and start without moments: {some(fresh)}.",
        )
    if saved_names is not None and _moved(saved_names, names):
        report.add(
            "note",
            about,
            "The parameters are in another order than when this was saved. The moments were given back by name; "
            "torch would have given them to other parameters.",
        )
    return {"state": state, "param_groups": groups}


def _saved_by_key(saved: Mapping[str, Any], names: Names | None) -> dict[Any, _Saved]:
    found: dict[Any, _Saved] = {}
    keys = (
        _keys(names)
        if names is not None
        else _positions([group["params"] for group in saved["param_groups"]])
    )
    for group, group_keys in zip(saved["param_groups"], keys, strict=False):
        for number, key in zip(group["params"], group_keys, strict=False):
            found[key] = _Saved(group, saved["state"].get(number, {}))
    return found


def _keys(names: Names) -> list[list[Any]]:
    """A parameter's name; those without a name are numbered."""
    unnamed = 0
    keys: list[list[Any]] = []
    for group in names:
        keys.append([])
        for name in group:
            keys[-1].append(name or unnamed)
            unnamed += not name
    return keys


def _positions(groups: Sequence[Sequence[Any]]) -> list[list[Any]]:
    counter = iter(range(1 << 40))
    return [[next(counter) for _ in group] for group in groups]


def _same_layout(saved: Mapping[str, Any], names: Names, report: ResumeReport, about: str) -> bool:
    theirs = [len(group["params"]) for group in saved["param_groups"]]
    ours = [len(group) for group in names]
    if theirs != ours:
        report.add(
            "error",
            about,
            f"The saved optimizer holds groups of {theirs} parameters, this one of {ours}, and the file has no names to go by.",
            "Build the optimizer as it was, or start with fresh moments.",
        )
        return False
    if any(len(group) > 1 for group in names):
        report.add(
            "note",
            about,
            "The file has no names of parameters, so the moments go by position. That is right only if the model "
            "registers its layers in the order it did when this was saved.",
        )
    return True


def _settings(
    found: list[_Saved], own: dict[str, Any], report: ResumeReport, about: str, *, script_wins: bool
) -> dict[str, Any]:
    groups = list({id(each.group): each.group for each in found}.values())
    if not groups:
        return own
    if len(groups) > 1:
        if any(
            _differ(groups[0].get(key), group.get(key))
            for group in groups[1:]
            for key in own
            if key not in _NO_SETTING
        ):
            report.add(
                "warning",
                about,
                "Parameters of several saved groups are in one group now; its settings stay the script's.",
            )
            return own
    theirs = groups[0]
    # A cycle moves momentum too; where it began is in the scheduler.
    moving = {"betas", "momentum"} if "base_momentum" in theirs else set()
    for key in own:
        if key in _NO_SETTING | moving or key not in theirs:
            continue
        a, b = _base(theirs, key), _base(own, key)
        if _differ(a, b):
            winner = "The script wins" if script_wins else "The checkpoint wins"
            report.add(
                "warning",
                about,
                f"{key}: the checkpoint has {_shown(a)}, the script {_shown(b)}. {winner}.",
                "" if script_wins else 'Call resume with settings="script" to keep the script\'s.',
            )
    kept = (
        dict(own) if script_wins else {**own, **{k: v for k, v in theirs.items() if k not in _IMPLEMENTATION}}
    )
    if script_wins and own.get("initial_lr") and theirs.get("initial_lr"):
        # The schedule goes on where it was, from the script's rate.
        kept["lr"] = theirs["lr"] * (own["initial_lr"] / theirs["initial_lr"])
    kept.pop("params", None)
    kept.pop("param_names", None)
    if "param_names" in own:
        kept["param_names"] = own["param_names"]
    return kept


def _base(group: Mapping[str, Any], key: str) -> Any:
    """A scheduler moves `lr`; what was set is `initial_lr`."""
    return group.get("initial_lr", group["lr"]) if key == "lr" else group[key]


def _differ(a: Any, b: Any) -> bool:
    a, b = (each.tolist() if hasattr(each, "tolist") else each for each in (a, b))
    a, b = (list(each) if isinstance(each, tuple) else each for each in (a, b))
    return bool(a != b)


def _shown(value: Any) -> str:
    value = value.tolist() if hasattr(value, "tolist") else value
    return f"{value:g}" if isinstance(value, float) else str(value)


def _fits(state: Mapping[str, Any], shape: tuple[int, ...]) -> bool:
    return all(
        tuple(value.shape) == shape
        for key, value in state.items()
        if key in _LIKE_THE_PARAMETER and hasattr(value, "shape")
    )


def _like(parameter: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    """With the memory layout of the parameter: fused and foreach steps want both alike."""
    import torch

    given = {}
    for key, value in state.items():
        if isinstance(value, torch.Tensor) and value.shape == parameter.shape and value.dim() > 1:
            if value.stride() != parameter.stride():
                value = torch.empty_like(parameter, dtype=value.dtype, device=value.device).copy_(value)  # noqa: PLW2901
        given[key] = value
    return given


def _moved(theirs: Names, ours: Names) -> bool:
    a = [name for group in theirs for name in group if name]
    b = [name for group in ours for name in group if name]
    both = set(a) & set(b)
    return [name for name in a if name in both] != [name for name in b if name in both]


def _shape(state: Mapping[str, Any]) -> tuple[int, ...] | None:
    for key, value in state.items():
        if key in _LIKE_THE_PARAMETER and hasattr(value, "shape"):
            return tuple(value.shape)
    return None


def _is_buffer(name: str) -> bool:
    return name.rpartition(".")[2] in {"running_mean", "running_var", "num_batches_tracked"}
