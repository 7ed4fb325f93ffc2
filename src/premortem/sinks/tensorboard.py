"""`--sink tensorboard:DIR`: an event file beside those of the script, if DIR is where they are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.text.metadata import create_summary_metadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util

from premortem.events import StepStats
from premortem.findings import Finding
from premortem.sinks.base import Outcome, Sink, numbers
from premortem.sinks.words import as_markdown


class TensorBoard(Sink):
    """Findings as text at their step and as a count; loss, gradient norm and learning rate as curves."""

    name = "TensorBoard"
    wants_steps = True

    def __init__(self, place: str) -> None:
        # Now, because the script may change its folder.
        self._folder = Path(place or Path("runs", "premortem")).absolute()
        self._writer: Any = None
        self._count = 0

    def steps(self, steps: Sequence[StepStats]) -> None:
        for stats in steps:
            valid, broken = numbers(stats)
            marks = {f"{name}_not_finite": 1.0 for name in broken}
            for tag, value in {**valid, **marks}.items():
                self._write(Summary.Value(tag=tag, simple_value=value), stats.step)
        self._flush()

    def finding(self, finding: Finding) -> None:
        self._count += 1
        self._write(Summary.Value(tag="premortem/findings", simple_value=self._count), finding.step)
        self._text("premortem/finding", as_markdown(finding), finding.step)
        self._flush()

    def ended(self, outcome: Outcome) -> None:
        text = "\n\n".join([f"**{outcome.verdict}**", *map(as_markdown, outcome.findings)])
        self._text("premortem/verdict", text, outcome.steps)
        self._writer.close()

    def _text(self, tag: str, text: str, step: int) -> None:
        metadata = create_summary_metadata(display_name=tag, description="")
        tensor = tensor_util.make_tensor_proto([text.encode()], shape=(1,))
        self._write(Summary.Value(tag=f"{tag}/text_summary", metadata=metadata, tensor=tensor), step)

    def _write(self, value: Any, step: int) -> None:
        if self._writer is None:
            self._writer = EventFileWriter(str(self._folder), filename_suffix=".premortem")
        self._writer.add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=[value])))

    def _flush(self) -> None:
        if self._writer is not None:
            self._writer.flush()
