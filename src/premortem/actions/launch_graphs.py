"""Work on a device that is the same every time, with the same tensors: many kernels, but one launch.

It runs as it is the first time, is captured into a CUDA graph the second time, and is repeated by that from then on.
Where it cannot be captured it runs as it is for ever.
"""

from collections.abc import Callable

import torch

from premortem.actions.driver import stream_of


class Repeated:
    def __init__(self, work: Callable[[], None], device: torch.device) -> None:
        self._work = work
        self._device = device
        self._times = 0
        self.graph: torch.cuda.CUDAGraph | None = None  # once there is one

    def __call__(self) -> None:
        self._times += 1
        if self._times == 2:
            self.graph = self._captured()
        if self.graph is None:
            self._work()
        else:
            self.graph.replay()

    def _captured(self) -> torch.cuda.CUDAGraph | None:
        graph = torch.cuda.CUDAGraph()
        try:
            # Not `torch.cuda.graph`, which waits for the device and empties the cache of the user's allocator; and only
            # what this very thread does is captured, whatever a loader's thread may copy meanwhile.
            with torch.cuda.stream(stream_of(self._device)):
                graph.capture_begin(capture_error_mode="thread_local")
                try:
                    self._work()
                finally:
                    graph.capture_end()
        except RuntimeError:
            return None
        return graph
