"""What a test could leave behind: premortem installs hooks, threads and handlers, and must take them away."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Any

# What probes wrap, by module. Left wrapped, the next test would run inside the last one's watcher.
WRAPPED = {
    "torch": ("save", "load", "no_grad"),  # not manual_seed: torch itself replaces it when dynamo comes in
    "torch.autograd": ("backward", "grad"),
    "torch.nn.utils": ("clip_grad_norm_", "clip_grad_value_"),
    "torch.nn.functional": ("cross_entropy", "mse_loss", "binary_cross_entropy", "nll_loss", "l1_loss"),
}
METHODS = {
    ("torch", "Tensor"): ("backward", "detach", "item", "numpy", "__setattr__"),
    ("torch.nn", "Module"): ("__call__", "zero_grad", "load_state_dict", "train"),
    ("torch.optim", "Optimizer"): ("__init__", "zero_grad", "load_state_dict", "add_param_group"),
    ("torch.utils.data", "DataLoader"): ("__init__", "__iter__"),
}
# Registries of hooks, which torch offers but does not let one read in public.
HOOKS = {
    "torch.optim.optimizer": ("_global_optimizer_pre_hooks", "_global_optimizer_post_hooks"),
    "torch.nn.modules.module": (
        "_global_forward_hooks",
        "_global_forward_hooks_always_called",
        "_global_forward_hooks_with_kwargs",
        "_global_forward_pre_hooks",
        "_global_backward_hooks",
        "_global_backward_pre_hooks",
        "_global_module_registration_hooks",
        "_global_parameter_registration_hooks",
        "_global_buffer_registration_hooks",
    ),
}
# torch's compiler shows bars where tqdm is installed, and tqdm keeps its thread.
THREADS_OF_OTHERS = {"tqdm_monitor"}
# pytest tells subprocesses which test is running; torch sets its cache folder when an optimizer is first built.
# Others are set by libraries when they are imported, whoever imports them first.
ENVIRONMENT_OF_OTHERS = {
    "PYTEST_CURRENT_TEST",
    "TORCHINDUCTOR_CACHE_DIR",
    "KMP_DUPLICATE_LIB_OK",
    "KMP_INIT_AT_FORK",
    "PYTORCH_NVML_BASED_CUDA_CHECK",
}


def snapshot() -> dict[str, Any]:
    """The state of the process, as far as premortem could change it; compare with `left_behind`."""
    state: dict[str, Any] = {
        "sys.excepthook": sys.excepthook,
        "threading.excepthook": threading.excepthook,
        "sys.stdout": sys.stdout,
        "sys.stdout.write": sys.stdout.write,
        "sys.stderr": sys.stderr,
        "sys.argv": list(sys.argv),
        "working folder": os.getcwd(),  # noqa: PTH109 - the folder as the process has it
        "__main__": sys.modules.get("__main__"),
    }
    for thread in threading.enumerate():
        # A dummy stands for a thread that Python did not start, and stays after it.
        if not isinstance(thread, threading._DummyThread) and thread.name not in THREADS_OF_OTHERS:
            state[f"thread {thread.name} ({thread.ident})"] = True
    for number in sorted(signal.valid_signals()):
        state[f"handler of signal {int(number)}"] = signal.getsignal(number)
    for name, value in os.environ.items():
        if name not in ENVIRONMENT_OF_OTHERS:
            state[f"environment variable {name}"] = value
    if "torch" in sys.modules:
        state.update(_torch())
    return state


def _torch() -> dict[str, Any]:
    import torch

    state: dict[str, Any] = {
        "torch is loaded": True,
        "torch.is_grad_enabled()": torch.is_grad_enabled(),
        "torch.get_default_dtype()": torch.get_default_dtype(),
        "torch.get_num_threads()": torch.get_num_threads(),
    }
    for module, names in WRAPPED.items():
        if module in sys.modules:
            state.update({f"{module}.{name}": getattr(sys.modules[module], name) for name in names})
    for (module, owner), names in METHODS.items():
        if module in sys.modules:
            kind = getattr(sys.modules[module], owner)
            state.update({f"{module}.{owner}.{name}": getattr(kind, name) for name in names})
    for module, names in HOOKS.items():
        if module in sys.modules:
            state.update(
                {f"{module}.{name}": list(getattr(sys.modules[module], name, ())) for name in names}
            )  # torch 2.4 lacks some
    return state


def left_behind(before: dict[str, Any], patience: float = 30.0) -> list[str]:
    """What is different now. A thread that is ending gets `patience` seconds to do so: on a busy machine it needs them."""
    deadline = time.monotonic() + patience
    while True:
        changed = _changed(before, snapshot())
        threads = [name for name in changed if name.startswith("thread")]
        if not threads or time.monotonic() > deadline:
            return changed
        time.sleep(0.01)


def _changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    if "torch is loaded" in after and "torch is loaded" not in before:
        # The test imported torch. What torch brought along is no trace, but a hook in it is.
        brought = {name: value for name, value in after.items() if name.startswith("torch")}
        before = {**before, **brought, **{name: [] for name in brought if "_global_" in name}}
    # A thread that ended in the meantime, an earlier test's browser perhaps, is nobody's trace.
    before = {
        name: value for name, value in before.items() if name in after or not name.startswith("thread ")
    }
    names = [*before, *(name for name in after if name not in before)]
    return [name for name in names if name not in before or name not in after or before[name] != after[name]]
