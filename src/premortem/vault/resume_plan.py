"""One resume: a checkpoint is compared with what it is to be loaded into, piece by piece, and then loaded."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from premortem.amounts import some
from premortem.errors import UsageError, VaultError
from premortem.vault import drift, optimizer_state, schedules, surroundings, training_objects
from premortem.vault.health import examine
from premortem.vault.report import ResumeReport, report_match
from premortem.vault.resume_source import Saved
from premortem.vault.wrapping import bare, unwrapped

Settings = Literal["checkpoint", "script"]


class Resumption:
    """One comparison, and the loads that follow from it."""

    def __init__(self, saved: Saved, given: Mapping[str, Any], *, settings: Settings) -> None:
        if settings not in {"checkpoint", "script"}:
            raise UsageError(f'settings="{settings}": say "checkpoint" or "script", whichever is to win')
        self.saved = saved
        self.given = given
        self.report = ResumeReport(path=saved.path, step=saved.step, epoch=saved.epoch)
        self._script_wins = settings == "script"
        self._plan: list[tuple[str, Callable[[], None]]] = []
        self._renamed: dict[str, str] = {}  # the file's name of a weight → the model's
        self._order: list[tuple[str, tuple[int, ...]]] = []  # weights of the file, in its order

    def compare(self, *, config: Any, companions: Mapping[str, Any] | None, rng: bool) -> ResumeReport:
        weights = {
            name: each
            for name, each in self.given.items()
            if training_objects.is_module(each) or training_objects.is_weights(each)
        }
        for name, each in weights.items():
            self._weights(name, each, alone=len(training_objects.models(self.given)) <= 1)
        for name, each in self.given.items():
            if name not in weights:
                self._other(name, each)
        self._ours(config, companions, rng=rng)
        for sentence in self.saved.remarks:
            self.report.add("note", "checkpoint", sentence)
        if left := self.saved.leftover():
            self.report.add("note", "checkpoint", f"It also holds what was not asked for: {', '.join(left)}.")
        return self.report

    def also(self, name: str, put: Callable[[], None]) -> None:
        """Load this too, before what is compared after it."""
        self._plan.append((name, put))

    def load(self) -> None:
        for name, put in self._plan:
            try:
                put()
            except Exception as error:
                done = ", ".join(self.report.restored) or "nothing"
                raise VaultError(
                    f"{name} could not be restored ({error}); restored before it: {done}"
                ) from error
            self.report.restored.append(name)
        self.report.loaded = True
        self.report.left_out += [f"`{name}`" for name in self.given if name not in self.report.restored]
        if "loader" in self.report.restored:
            self.report.epoch = getattr(self.given["loader"], "epoch", self.report.epoch)

    # --- weights ---------------------------------------------------------------------------------

    def _weights(self, name: str, piece: Any, *, alone: bool) -> None:
        found = self.saved.weights(name, training_objects.specs(piece))
        if found is None:
            self.report.add("error", name, f"The checkpoint holds no weights for `{name}`.")
            return
        match, tensors = found.match, found.tensors
        if not match.pairs and not match.reshaped:
            self.report.add(
                "error",
                name,
                f"None of the {len(tensors)} weights in the checkpoint has a place in `{name}`: the checkpoint belongs to another model.",
            )
            return
        front = "" if alone else f"{name}."
        if name.partition(".")[0] != "ema":
            inverse = {theirs: ours for ours, theirs in match.pairs.items()}
            self._renamed.update(
                {front + bare(theirs): front + bare(ours) for theirs, ours in inverse.items()}
            )
            self._order += [
                (front + bare(inverse.get(key, key)), shape) for key, shape in found.shapes.items()
            ]
        report_match(match, name, self.report)
        if found.rivals:
            several = ", ".join(f"`{each}`" for each in found.rivals)
            self.report.add("warning", name, f"{several} fit equally well; the first was taken.")
        values = {ours: tensors[theirs] for ours, theirs in match.pairs.items()}
        self._look_at(name, values)
        self._plan.append((name, lambda: _put(piece, {**values, **found.extra})))

    def _look_at(self, name: str, values: Mapping[str, Any]) -> None:
        non_finite, zero = self._health(name, values)
        if non_finite:
            self.report.add(
                "error",
                name,
                f"Weights that are not finite: {some(non_finite)}. Training cannot go on from them.",
            )
        if zero := [key for key in zero if values[key].dim() > 1]:
            self.report.add("note", name, f"Weights that are zero throughout: {some(zero)}.")

    def _health(self, name: str, values: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        """What is not finite, and what is zero. The bits of ours are verified; they were looked at when they were saved."""
        if self.saved.manifest is None:
            health = examine(values)
            return health.non_finite, health.all_zero
        recorded, front = self.saved.manifest.health, f"{name}."
        found = [
            [key.removeprefix(front) for key in names if key.startswith(front)]
            for names in (recorded.non_finite, recorded.all_zero)
        ]
        return found[0], [key for key in found[1] if key in values]

    # --- optimizers, schedulers, the rest --------------------------------------------------------

    def _other(self, name: str, piece: Any) -> None:
        if training_objects.is_optimizer(piece):
            kind = "optimizer"
        elif training_objects.is_scheduler(name, piece):
            kind = "scheduler"
        elif training_objects.is_scaler(name, piece):
            kind = "scaler"
        else:
            kind = "other"
        state = self.saved.state(
            name, kind, lambda each: kind != "optimizer" or optimizer_state.could_be(each, piece)
        )
        if state is None:
            consequence = {
                "optimizer": " It starts without moments, and the first steps may undo some of the training.",
                "scheduler": " The rate starts at its beginning.",
                "scaler": " The loss scale starts at its beginning.",
            }.get(kind, "")
            self.report.add("warning", name, f"The checkpoint holds no state for `{name}`.{consequence}")
        elif kind == "optimizer":
            self._optimizer(name, piece, state)
        elif kind == "scheduler":
            current = piece.state_dict()
            state = schedules.compare_schedule(
                state, current, self.report, about=name, script_wins=self._script_wins
            )
            wins = self._script_wins
            self._plan.append((name, lambda: schedules.load_schedule(piece, state, script_wins=wins)))
        elif kind == "scaler" and not state:
            if getattr(piece, "is_enabled", lambda: True)():
                self.report.add(
                    "note", name, "The saved scaler was not in use; this one starts at its beginning."
                )
        elif kind == "scaler":
            schedules.compare_scaler(state, self.report, about=name)
            self._plan.append((name, lambda: piece.load_state_dict(state)))
        elif training_objects.is_loader(piece):
            self._plan.append((name, lambda: training_objects.load_order(piece, state)))
        else:
            self._plan.append((name, lambda: piece.load_state_dict(state)))

    def _optimizer(self, name: str, optimizer: Any, state: Any) -> None:
        if not isinstance(state, Mapping) or "param_groups" not in state:
            self._plan.append((name, lambda: optimizer.load_state_dict(state)))
            return
        if self._another_kind(name, optimizer, state):
            return
        ours = optimizer_state.names_of(optimizer, training_objects.models(self.given))
        theirs = self.saved.names(name) or optimizer_state.names_in(state, self._order, ours)
        if theirs is not None:
            theirs = [[self._renamed.get(each, each) for each in group] for group in theirs]
        if not any(each for group in ours for each in group):
            theirs = None  # no model was given to take the names from
        mapped = optimizer_state.mapped(
            state, theirs, optimizer, ours, self.report, about=name, script_wins=self._script_wins
        )
        non_finite, _ = self._health(name, _moments(state, theirs))
        if non_finite:
            self.report.add("error", name, f"Moments that are not finite: {some(non_finite)}.")
        schedules.compare_counts(self.saved.step, state, self.report)
        if mapped is not None:
            self._plan.append((name, lambda: optimizer.load_state_dict(mapped)))

    def _another_kind(self, name: str, optimizer: Any, state: Mapping[str, Any]) -> bool:
        if not state["param_groups"] or not optimizer.param_groups:
            return False
        distinctive = {"betas", "momentum", "alpha", "lr_decay", "rho", "etas"}
        theirs, ours = (
            distinctive & set(group) for group in (state["param_groups"][0], optimizer.param_groups[0])
        )
        if theirs == ours:
            return False
        saved_class = self.saved.manifest.pieces.get(name, "") if self.saved.manifest else ""
        was = f"a {saved_class.rpartition('.')[2]}" if saved_class else "another kind"
        self.report.add(
            "error",
            name,
            f"The saved state is of {was} of optimizer, and this is a {type(optimizer).__name__}: the moments mean other things.",
        )
        return True

    # --- what only our checkpoints know ----------------------------------------------------------

    def _ours(self, config: Any, companions: Mapping[str, Any] | None, *, rng: bool) -> None:
        manifest = self.saved.manifest
        if manifest is None:
            if rng:
                self.report.add(
                    "note", "rng", "Random states are not read from this file; draws are not continued."
                )
            return
        self.report.metrics = dict(manifest.metrics)
        self.report.extra = self.saved.state("extra", "other")
        for sentence in manifest.left_out:
            self.report.add("warning", "checkpoint", f"Not stored: {sentence}.")
        drift.compare_config(manifest.config, config, self.report)
        drift.compare_code(manifest, self.report)
        drift.compare_companions(manifest.companions, companions, self.report)
        if rng and manifest.ranks not in {0, training_objects.processes()}:
            text = f"Saved by {manifest.ranks} ranks, resumed on {training_objects.processes()}: the state of each rank is not restored."
            self.report.add("note", "rng", text)
        elif rng and training_objects.rank() and not manifest.ranks:
            self.report.add(
                "note", "rng", "Only the first process has saved its random states; this one starts anew."
            )
        states = (
            self.saved.state("rng", "other")
            if rng and (manifest.ranks or not training_objects.rank())
            else None
        )
        if states is not None:
            self._plan.append(("rng", lambda: self._restore(states)))

    def _restore(self, states: Mapping[str, Any]) -> None:
        for sentence in surroundings.restore_random_states(states):
            self.report.add("note", "rng", sentence)


def _moments(state: Mapping[str, Any], names: optimizer_state.Names | None) -> dict[str, Any]:
    called = {}
    for place, group in enumerate(state["param_groups"]):
        for position, number in enumerate(group["params"]):
            known = (
                names[place][position]
                if names and place < len(names) and position < len(names[place])
                else ""
            )
            called[number] = known or f"parameter {number}"
    return {
        f"{called.get(number, number)} {key}": value
        for number, each in state["state"].items()
        if isinstance(each, Mapping)
        for key, value in each.items()
        if hasattr(value, "is_floating_point")
    }


def _put(piece: Any, values: Mapping[str, Any]) -> None:
    import torch

    if training_objects.is_weights(piece):
        with torch.no_grad():
            for key, value in values.items():
                piece[key].copy_(value)
        return
    unwrapped(piece).load_state_dict(values, strict=False)
