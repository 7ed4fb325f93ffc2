"""CUDA graphs. What is captured runs later, without Python: nothing of ours may be in it, and reading a single number
of a device would end the capture, and with it the script. So premortem does not look until it is over."""

import threading
from typing import Any

import torch

from premortem.probes.session import Session


class Capturing:
    def __init__(self, session: Session) -> None:
        self.session = session
        self._looking = False  # it is premortem itself that captures

    def install(self) -> None:
        self.session.patch(torch.cuda.CUDAGraph, "capture_begin", self._wrap_begin)
        self.session.patch(torch.cuda.CUDAGraph, "capture_end", self._wrap_end)

    def _wrap_begin(self, original: Any) -> Any:
        def capture_begin(graph: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(graph, *args, **kwargs)
            if threading.get_ident() == self.session.thread:
                self._looking, self.session.looking = self.session.looking, True
            return result

        return capture_begin

    def _wrap_end(self, original: Any) -> Any:
        def capture_end(graph: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return original(graph, *args, **kwargs)
            finally:
                if threading.get_ident() == self.session.thread:
                    self.session.looking = self._looking

        return capture_end
