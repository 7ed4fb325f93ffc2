"""Probes turn torch into events. They are the only part that touches the user's run.

They never raise into it, never change a healthy step by one bit, and never wait for a device in cruise.
To add one: write its file and add it to `Attachment`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from torch import nn
from torch.optim.optimizer import Optimizer

from premortem.events import Event, LogLine
from premortem.probes.attention_masks import AttentionMasks
from premortem.probes.backward import Backwards
from premortem.probes.batch_rows import BatchRows
from premortem.probes.broken_weights import BrokenWeights
from premortem.probes.capturing import Capturing
from premortem.probes.clipping import Clipping
from premortem.probes.compiling import Compiling
from premortem.probes.drawn_orders import DrawnOrders
from premortem.probes.drawn_samples import DrawnSamples
from premortem.probes.draws import Draws
from premortem.probes.dropped_results import DroppedResults
from premortem.probes.erased_gradients import ErasedGradients
from premortem.probes.existing_objects import left_behind
from premortem.probes.experiments import Experiments
from premortem.probes.files_read import FileReading
from premortem.probes.finite_questions import Questions
from premortem.probes.followers import Followers
from premortem.probes.inflow import Inflow
from premortem.probes.keeping import Keeping
from premortem.probes.label_information import Pairs
from premortem.probes.loaders import Loaders
from premortem.probes.loop_habits import LoopHabits
from premortem.probes.losses import Losses
from premortem.probes.manual_updates import ByHand
from premortem.probes.memory import Memory
from premortem.probes.modules import Models
from premortem.probes.nonfinite_origin import NonFiniteOrigin
from premortem.probes.numpy_warnings import NumpyWarnings
from premortem.probes.op_audit import OpAudit
from premortem.probes.optimizers import Optimizers
from premortem.probes.parameter_audit import ParameterAudit
from premortem.probes.parts_of_data import PartsOfData
from premortem.probes.picture_layout import PictureLayout
from premortem.probes.rank_comparison import RanksProbe
from premortem.probes.recent_data import Recent
from premortem.probes.recorded_metrics import RecordedMetrics
from premortem.probes.recorder import Recorder
from premortem.probes.recounted_scores import RecountedScores
from premortem.probes.replaced_weights import ReplacedWeights
from premortem.probes.reported_sums import ReportedSums
from premortem.probes.rest import Rest
from premortem.probes.resuming import Resuming
from premortem.probes.running_metrics import RunningMetrics
from premortem.probes.saved_contents import Saved
from premortem.probes.scalers import Scalers
from premortem.probes.schedulers import Schedulers
from premortem.probes.seeds import Seeds
from premortem.probes.session import Session
from premortem.probes.shape_trail import ShapeTrail
from premortem.probes.shards import Shards
from premortem.probes.states import States
from premortem.probes.stats import Stats
from premortem.probes.steering import Steering
from premortem.probes.training import Training
from premortem.probes.training_thread import Home


class Attachment:
    """All probes, installed in torch; `detach` leaves torch exactly as it was."""

    def __init__(self, emit: Callable[[Event], None], fault: Callable[[str, BaseException], None]) -> None:
        self.session = session = Session(emit, fault)
        self.guard: Any = None  # set by whoever may refuse steps (premortem.actions.guard)
        self.optimizers = Optimizers(session)
        self.models = models = Models(session)
        self.states = States(session, self.optimizers)
        models.before_forward.append(self.states.flags.call_begins)
        models.after_forward.append(self.states.flags.call_ended)
        self.saved = Saved(session, self.states, models)
        recent = Recent()
        self.op_audit = OpAudit(session, models, recent)
        self.pairs = Pairs(session, models)
        self.nonfinite_origin = nonfinite_origin = NonFiniteOrigin(session, models, self.optimizers, recent)
        self.op_audit.suspects.append(nonfinite_origin.microscope_schedule.suspect)
        self.optimizers.suspects.append(nonfinite_origin.microscope_schedule.alarm)
        draws = Draws(session)
        byhand = ByHand(session, self.optimizers, models)
        choices = self.op_audit.choices
        self.backwards = Backwards(
            session, self.optimizers, models, byhand, nonfinite_origin, draws, choices, recent
        )
        self.stats = Stats(
            session, self.optimizers, models, self.backwards, nonfinite_origin.microscope_schedule
        )
        custody = ParameterAudit(session, self.optimizers, models, self.backwards, self.states)
        training = Training(session, models, self.optimizers, self.backwards)
        self.recorder = Recorder(training)
        session.rest = Rest(session, self.optimizers)
        self.trail = ShapeTrail(session)
        self.memory = Memory(training)
        losses = Losses(session, models, recent, nonfinite_origin, self.pairs, self.recorder)
        experiments = Experiments(session, models, self.optimizers, recent)
        masks = AttentionMasks(session, models)
        self.op_audit.on_softmax.append(masks.weighed)
        losses.on_target.append(experiments.compared)
        self.loaders = Loaders(session, recent)
        self.loaders.on_batch.append(self.recorder.drawn)
        self.reading = FileReading(session)
        self.inflow = Inflow(session, models, self.loaders, losses, self.pairs, self.reading)
        self.steering = Steering(session, self.reading)
        self.dropped = DroppedResults(session, self.optimizers)
        self.schedulers = Schedulers(session, self.optimizers)
        self.schedulers.suspects.append(nonfinite_origin.microscope_schedule.look_at_evaluations)
        self.scalers = Scalers(session, self.optimizers, self.stats, nonfinite_origin)
        self.scalers.left_out.append(self.recorder.left_out)
        habits = LoopHabits(session, models, self.optimizers)
        habits.suspects.append(nonfinite_origin.microscope_schedule.look_at_evaluations)
        clipping = Clipping(session, self.optimizers)
        self.ranks = RanksProbe(session, self.optimizers, models, self.loaders, clipping)
        shards = Shards(session, models)
        shards.began.append(self.ranks.meets_pieces)
        self.home = Home(session, self.optimizers)
        self.seeds = Seeds(session, self.optimizers)
        self.reported = ReportedSums(session)
        self.recorded = RecordedMetrics(session)
        self.resuming = Resuming(session, self.optimizers, self.schedulers, self.scalers)
        self.replaced = ReplacedWeights(session, self.optimizers, self.states, self.reading)
        probes: tuple[Any, ...] = (
            self.optimizers,
            models,
            shards,
            self.states,
            self.backwards,
            self.stats,
            custody,
            self.op_audit,
            losses,
            experiments,
            masks,
            ErasedGradients(session, self.optimizers, models.registry),
            Followers(session, models, self.optimizers),
            habits,
            BatchRows(session, self.loaders),
            PartsOfData(session, self.loaders, models),
            DrawnOrders(session, self.loaders),
            RunningMetrics(session, self.loaders, models.registry),
            PictureLayout(session, models),
            RecountedScores(session, self.loaders, models),
            DrawnSamples(session, models),
            self.loaders,
            self.inflow,
            self.reading,
            self.schedulers,
            self.scalers,
            clipping,
            Questions(session, models, nonfinite_origin),
            BrokenWeights(session, models, nonfinite_origin),
            NumpyWarnings(session),
            self.seeds,
            draws,
            Keeping(session, self.optimizers),
            self.resuming,
            self.replaced,
            Compiling(session, self.op_audit, nonfinite_origin.microscope_schedule),
            Capturing(session),
            nonfinite_origin.microscope_schedule,
            self.recorder,
            self.memory,
            self.ranks,
            self.home,
        )
        for probe in probes:
            probe.install()
        self.optimizers.after_step.append(self._step_ended)
        self.optimizers.told_only.add(self._step_ended)  # a rested step leaves nothing to clear
        self.optimizers.heeds = self._heeds

    def _heeds(self) -> bool:
        """Before a rested step: whether it is more than any other."""
        loaded, resuming = self.states.fresh, self.resuming
        if loaded or resuming.files or resuming.restored:
            return True
        if self.session.rest.careful or not self.stats.checked:
            return True
        return bool(self.recorder.moving) and not self.recorder.sound()

    def _step_ended(self, optimizer: Any, track: Any, step: int) -> None:
        if step == 1:
            with self.session.looking_at("reading"):
                self.reading.tell()
            with self.session.looking_at("steering"):
                self.steering.tell()
            with self.session.looking_at("trackers"):
                self.recorded.look_for_trackers()
        self.models.step_ended()
        self.backwards.step_ended()
        self.nonfinite_origin.step_ended()
        self.op_audit.focus()

    def printed(self, line: LogLine) -> None:
        """The script prints this line just now."""
        self.reported.printed(line)
        self.recorded.printed(line)

    def alarm(self, steps: int = 4) -> None:
        """Something looks wrong: audit the next steps."""
        self.session.alarm_until = max(self.session.alarm_until, self.session.step + steps)

    def in_training(self) -> tuple[dict[str, nn.Module], list[Optimizer]]:
        """Models that were trained, by the names that findings use, and the optimizers that are alive."""
        trained = [model for model in self.models.known.values() if model.trained]
        models = {model.name: module for model in trained if (module := model.module()) is not None}
        tracks = self.optimizers.live()
        return models, [optimizer for track in tracks if (optimizer := track.optimizer()) is not None]

    def training_state(self) -> dict[str, Any]:
        """The state of what is in training, as far as it can be read back without running code."""
        models, optimizers = self.in_training()
        schedulers = [
            scheduler
            for optimizer in optimizers
            for scheduler in self.schedulers.of_optimizer(self.session.optimizers.of(optimizer))
        ]
        scaler = self.scalers.last() if self.scalers.last is not None else None
        return {
            "models": {name: model.state_dict() for name, model in models.items()},
            "optimizers": [optimizer.state_dict() for optimizer in optimizers],
            "schedulers": [state for each in schedulers if is_plain(state := each.state_dict())],
            "scaler": scaler.state_dict() if scaler is not None else {},
        }

    def introduce(self, objects: Sequence[Any]) -> None:
        """Models and optimizers that were built before premortem came."""
        for thing in objects:
            with self.session.looking_at("introduce"):
                if isinstance(thing, nn.Module):
                    self.models.registry.introduce(thing)
                elif isinstance(thing, Optimizer):
                    self.optimizers.introduce(thing)

    def leave_behind(self) -> None:
        """A trial is over, and the next one of this process begins with others."""
        tracks = [each for each in self.optimizers.tracks.values() if each.built_at is not None]
        left_behind.update(each for track in tracks if (each := track.optimizer()) is not None)

    def drain(self) -> None:
        """Numbers that are still on their way from the device."""
        self.stats.drain()
        with self.session.looking_at("pairs"):
            self.pairs.drain()
        with self.session.looking_at("inflow"):
            self.inflow.drain()
        with self.session.looking_at("reading"):
            self.reading.tell()
        with self.session.looking_at("steering"):
            self.steering.tell()
        with self.session.looking_at("replaced weights"):
            self.replaced.tell()
        self.ranks.close()

    def detach(self) -> None:
        self.drain()
        self.abandon()

    def abandon(self) -> None:
        """Leave torch as it was, and what is still on its way unread: in a fork, where it is the parent's."""
        self.session.on = False
        self.seeds.hook.leave()
        self.reading.openings.leave()
        self.nonfinite_origin.microscope_schedule.leave()
        self.op_audit.remove()
        self.dropped.remove()
        self.optimizers.remove()
        self.session.restore()


def is_plain(value: Any) -> bool:
    """Numbers, words, and lists and dictionaries of them."""
    if isinstance(value, dict):
        return all(is_plain(each) for each in value.values())
    if isinstance(value, (list, tuple)):
        return all(is_plain(each) for each in value)
    return value is None or isinstance(value, (bool, int, float, str))
