"""How many GPUs a script uses, read from its code by positive signs."""

import ast
import os
import re
from collections.abc import Mapping

from premortem.findings import Where
from premortem.lint.source import Source
from premortem.lint.tree import argument, constant, last_name
from premortem.preflight.environment.machine_facts import Use
from premortem.preflight.reading import Reading, strings

# Calls that spread work over devices, or may.
_SPREADS = frozenset(
    "DataParallel DistributedDataParallel FullyShardedDataParallel fully_shard init_process_group init_device_mesh "
    "Accelerator device_count set_device spawn mp_spawn parallelize_module data_parallel replicate pipeline".split()
)
# Packages that choose devices themselves. `devices=1` settles it for a Trainer.
_CHOOSE = frozenset(
    "accelerate lightning pytorch_lightning transformers deepspeed ray horovod ignite fastai composer colossalai megatron "
    "torchtitan torchtune trl axolotl keras mmengine mmcv catalyst fairscale diffusers ultralytics detectron2 "
    "sentence_transformers spacy flair bagua oneflow".split()
)
_KEYWORDS = frozenset(("device_map", "device_ids", "tensor_parallel_size"))
_CUDA = re.compile(r"cuda(?::(\d+))?")
LAUNCHED = ("LOCAL_RANK", "WORLD_SIZE")  # of a launcher: every process has its own


def use(reading: Reading, environ: Mapping[str, str] = os.environ) -> Use:
    cuda, other = _cuda(reading)
    framework = next(iter(sorted(_CHOOSE & reading.packages)), "")
    if any(name in environ for name in LAUNCHED):
        return Use(sign="started by a launcher", cuda=cuda, framework=framework)
    if where := _one_device(reading):
        return Use(devices=1, sign="devices=1", where=where, cuda=cuda, framework=framework)
    if framework or other or any(map(_spreads, reading.sources)):
        return Use(cuda=cuda, framework=framework)
    if cuda is None:
        return Use()
    return Use(devices=1, sign="one device for the model and the batches", where=cuda, cuda=cuda)


def _cuda(reading: Reading) -> tuple[Where | None, bool]:
    """Where the code first speaks of CUDA, and whether it speaks of more than the first device."""
    first: Where | None = None
    more = False
    for source in reading.sources:
        for node in strings(source):
            found = _CUDA.fullmatch(str(node.value).strip())
            if found:
                first = first or Where(source.path, node.lineno)
                more = more or found[1] not in {None, "0"}
            elif str(node.value).startswith("cuda:"):
                more = True  # `f"cuda:{rank}"`
        for call in source.calls_to("cuda"):
            first = first or Where(source.path, call.lineno)
            more = more or (bool(call.args) and constant(call.args[0]) != 0)
    return first, more


def _spreads(source: Source) -> bool:
    if _SPREADS & source.calls.keys() or b"LOCAL_RANK" in source.data or b"local_rank" in source.data:
        return True
    return any(keyword.arg in _KEYWORDS for call in source.nodes(ast.Call) for keyword in call.keywords)


def _one_device(reading: Reading) -> Where | None:
    """`Trainer(accelerator="gpu", devices=1)`, and no other Trainer."""
    trainers = [
        (source, call)
        for source in reading.sources
        for call in source.calls_to("Trainer", "Fabric")
        if any(name.startswith(("lightning.", "pytorch_lightning.")) for name in source.names.of(call.func))
    ]
    if len(trainers) != 1:
        return None
    source, call = trainers[0]
    devices = argument(call, "devices")
    kind = argument(call, "accelerator")
    one = isinstance(devices, ast.Constant) and devices.value in {1, "1"}
    on_gpu = kind is None or constant(kind) in {"gpu", "cuda", "auto"}
    return Where(source.path, call.lineno) if one and on_gpu and last_name(call) else None
