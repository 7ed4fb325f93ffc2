from premortem.detectors.base import Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.models import Models
from premortem.events import (
    Event,
    FileLoaded,
    Forward,
    OptimizerBuilt,
    OptimizerStep,
    StateLoaded,
    WeightsSeen,
)

STEPS = 32  # of training, in which it is called and not trained


class UntrainedWeightsLoaded(Detector):
    """A model that is only used, a teacher or a feature extractor, was loaded from a file whose weights were never trained.

    ## Why it matters
    Its answers say nothing about the inputs, and the training follows them. The file opens, every key matches, and nothing crashes.

    ## Usual causes
    The checkpoint that was saved before the first step; a model that was built anew before it was saved; a run that ended at once.

    ## What to do
    Load the checkpoint of the trained model, and look at what it answers before you build on it.

    ## How it is measured
    torch makes a new linear or convolutional layer with numbers that are spread evenly between two bounds. One step of training leaves the bounds,
    and many the even spread. In the file every such layer of the model is as new, its bias too.

    ## When it stays silent
    An optimizer is given its weights, or they change; other weights of the same file were trained (a fixed random network may be a part of the method);
    layers that the script initialises in another way.
    """

    card = Card("PM165", "untrained-weights-loaded", "checkpoint", Severity.WARNING)
    uses = (Models,)
    listens = (FileLoaded, StateLoaded, OptimizerBuilt, OptimizerStep, Forward, WeightsSeen)

    def __init__(self) -> None:
        self._file = ""
        self._trained: set[str] = set()  # files that hold trained weights too
        self._waiting: dict[int, tuple[str, StateLoaded]] = {}  # by model
        self._checksums: dict[int, int] = {}
        self._called: dict[int, int] = {}  # steps in which it was called
        self._now: set[int] = set()

    def observe(self, event: Event) -> Findings:
        if isinstance(event, FileLoaded):
            self._file = event.path
        elif isinstance(event, StateLoaded):
            if event.target == "module" and event.from_file:
                self._loaded(event)
        elif isinstance(event, OptimizerBuilt):
            for model, (_, loaded) in list(self._waiting.items()):
                if event.held & set(loaded.parameters):
                    del self._waiting[model]
        elif isinstance(event, WeightsSeen):
            if self._checksums.setdefault(event.model, event.checksum) != event.checksum:
                self._waiting.pop(event.model, None)
        elif isinstance(event, Forward):
            if event.model in self._waiting:
                self._now.add(event.model)
        elif isinstance(event, OptimizerStep):
            yield from self._stepped()

    def _loaded(self, event: StateLoaded) -> None:
        self._waiting.pop(event.key, None)
        self._checksums.pop(event.key, None)
        self._called.pop(event.key, None)
        if event.as_made and event.as_made[0] == event.as_made[1]:
            self._waiting[event.key] = self._file, event
        elif event.as_made:
            self._trained.add(self._file)

    def _stepped(self) -> Findings:
        now, self._now = self._now, set()
        for model in now & self._waiting.keys():
            self._called[model] = self._called.get(model, 0) + 1
            file, loaded = self._waiting[model]
            if self._called[model] < STEPS or model not in self._checksums or file in self._trained:
                continue
            del self._waiting[model]
            if self.once(model):
                yield self._found(loaded, file, model)

    def _found(self, loaded: StateLoaded, file: str, model: int) -> Finding:
        name = self.fact(Models).name(model, loaded.name)
        layers = loaded.as_made[1] if loaded.as_made else 0
        return self.finding(
            loaded,
            f"`{name}` is used in each step and not trained, and its weights were never trained: all {layers} layers of "
            f"`{file.rpartition('/')[2]}` that say it are as torch makes new ones",
            cause="The file was saved before the first step, or from a model that was built anew: its answers say nothing about the inputs.",
            remedy="Load the checkpoint of the trained model.",
            module=name,
            path=file,
            layers=layers,
        )
