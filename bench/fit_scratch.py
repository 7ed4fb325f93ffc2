"""What single kernels borrow on a real card: the facts behind premortem's model of workspaces.

    python bench/fit_scratch.py --json bench/results/fit-scratch.json
    python bench/fit_scratch.py --json bench/results/fit-scratch-grid.json --grid 600

Each line is one operation: how much it keeps, and how much more was allocated while it ran. With `--grid` they are random
convolutions with channels first, for so many seconds; a line holds the columns that the file names. The file in this
repository is a sample of 1500 out of 6037, all from the half that the model was not made from.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import time
from pathlib import Path

import torch
import torch.nn.functional as F

TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
# batch, channels in, channels out, side, kernel, stride, groups
PLANES = [
    (16, 3, 64, 224, 7, 2, 1), (16, 64, 64, 56, 3, 1, 1), (64, 64, 64, 56, 3, 1, 1), (16, 128, 64, 128, 3, 1, 1),
    (16, 64, 128, 56, 3, 2, 1), (16, 256, 64, 56, 1, 1, 1), (16, 64, 256, 56, 1, 1, 1), (16, 512, 512, 14, 3, 1, 1),
    (4, 128, 128, 64, 3, 1, 1), (8, 64, 64, 96, 3, 1, 1), (8, 64, 256, 96, 3, 1, 1), (16, 64, 64, 56, 3, 1, 8),
    (16, 96, 96, 56, 7, 1, 96), (16, 3, 768, 224, 16, 16, 1), (8, 1, 48, 256, 3, 1, 1), (8, 64, 3, 192, 3, 1, 1),
]  # fmt: skip
VOLUMES = [
    (2, 32, 32, 48, 3, 1, 1),
    (2, 64, 128, 24, 3, 1, 1),
    (4, 1, 32, 64, 3, 1, 1),
    (2, 128, 64, 32, 3, 1, 1),
]
LINES = [(8, 128, 256, 16000, 3, 1, 1), (8, 128, 128, 16000, 1, 1, 1)]
COLUMNS = "batch in out side kernel stride type forward input weight".split()
BATCHES = (2, 4, 8, 16, 32, 64, 128)
CHANNELS = (1, 3, 4, 16, 32, 48, 64, 96, 128, 192, 256, 320, 512, 768, 1024)
SIDES = (4, 7, 8, 14, 16, 28, 32, 48, 56, 64, 96, 112, 128, 224, 256)


def borrowed(call) -> dict[str, int]:
    """The second call: the first may load kernels and make handles."""
    call()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    kept = call()
    torch.cuda.synchronize()
    after = torch.cuda.memory_allocated()
    peak = torch.cuda.max_memory_allocated()
    del kept
    return {"kept": after - before, "borrowed": peak - after}


def convolutions():
    for dims, shapes in ((1, LINES), (2, PLANES), (3, VOLUMES)):
        for shape, name, last in itertools.product(shapes, TYPES, (False, True)):
            if dims == 1 and last:
                continue
            n, cin, cout, side, k, stride, groups = shape
            order = (
                {1: torch.contiguous_format, 2: torch.channels_last, 3: torch.channels_last_3d}[dims]
                if last
                else torch.contiguous_format
            )
            make = {"device": "cuda", "dtype": TYPES[name]}
            x = torch.randn(n, cin, *[side] * dims, **make).contiguous(memory_format=order)
            w = torch.randn(cout, cin // groups, *[k] * dims, **make).contiguous(memory_format=order)
            rest = (
                [stride] * dims,
                [k // 2 if stride < k else 0] * dims,
                [1] * dims,
                False,
                [0] * dims,
                groups,
            )
            y = torch.ops.aten.convolution(x, w, None, *rest)
            row = {"dims": dims, "shape": shape, "type": name, "channels_last": last}
            sizes = {"x": x.nbytes, "w": w.nbytes, "y": y.nbytes}
            yield {
                **row,
                "pass": "forward",
                **sizes,
                **borrowed(lambda: torch.ops.aten.convolution(x, w, None, *rest)),
            }
            for what, mask in (
                ("input", (True, False, False)),
                ("weight", (False, True, False)),
                ("both", (True, True, False)),
            ):
                call = lambda: torch.ops.aten.convolution_backward(y, x, w, None, *rest, mask)  # noqa: E731
                yield {**row, "pass": what, **sizes, **borrowed(call)}
            torch.cuda.empty_cache()


def grid(seconds: float):
    """What the three passes of random convolutions borrow; the padding is half the kernel, and 1 for a kernel of 4."""
    chance, seen, end = random.Random(7), set(), time.monotonic() + seconds
    while time.monotonic() < end:
        n, cin, cout, side = (chance.choice(c) for c in (BATCHES, CHANNELS, CHANNELS, SIDES))
        k, stride = chance.choice((1, 3, 3, 3, 4, 5, 7)), chance.choice((1, 1, 2))
        name = chance.choice(("fp32", "fp32", "fp32", "bf16", "fp16"))
        row, size = (n, cin, cout, side, k, stride, name), n * max(cin, cout) * side**2
        if row in seen or not 2e5 <= size <= 7.5e7:
            continue
        seen.add(row)
        make = {"device": "cuda", "dtype": TYPES[name]}
        x, w = torch.randn(n, cin, side, side, **make), torch.randn(cout, cin, k, k, **make)
        rest = ([stride] * 2, [1 if k == 4 else k // 2] * 2, [1, 1], False, [0, 0], 1)
        y = torch.ops.aten.convolution(x, w, None, *rest)
        back = torch.ops.aten.convolution_backward
        calls = (
            lambda: torch.ops.aten.convolution(x, w, None, *rest),
            lambda: back(y, x, w, None, *rest, (True, False, False)),
            lambda: back(y, x, w, None, *rest, (False, True, False)),
        )
        yield [*row, *(borrowed(call)["borrowed"] for call in calls)]


def write_grid(found: dict, seconds: float, path: Path) -> None:
    """One line each: a file that can be read, and compared."""
    head = json.dumps({**found, "columns": COLUMNS}, indent=1)[:-2]
    rows = ",\n  ".join(json.dumps(row) for row in grid(seconds))
    path.write_text(f'{head},\n "rows": [\n  {rows}\n ]\n}}\n')


def recurrent():
    for kind, (batch, length, size, hidden, layers, both), name in itertools.product(
        ("LSTM", "GRU", "RNN"),
        ((64, 128, 512, 512, 2, False), (64, 200, 300, 384, 2, True), (16, 50, 64, 128, 1, False)),
        ("fp32", "bf16"),
    ):
        rnn = (
            getattr(torch.nn, kind)(size, hidden, layers, batch_first=True, bidirectional=both)
            .cuda()
            .to(TYPES[name])
        )
        x = torch.randn(batch, length, size, device="cuda", dtype=TYPES[name], requires_grad=True)
        row = {"op": kind, "shape": (batch, length, size, hidden, layers, both), "type": name}
        yield {
            **row,
            "pass": "forward",
            "weights": sum(p.nbytes for p in rnn.parameters()),
            **borrowed(lambda: rnn(x)),
        }

        def whole():
            y, _ = rnn(x)
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            g = torch.autograd.grad(y.sum(), [x, *rnn.parameters()])
            return before, torch.cuda.max_memory_allocated(), torch.cuda.memory_allocated(), g

        whole()
        before, peak, after, _ = whole()
        yield {**row, "pass": "backward", "before": before, "peak": peak, "after": after}


def others():
    x = torch.randn(8192, 4096, device="cuda")
    i = torch.randint(0, 20000, (32768,), device="cuda")
    images = torch.randn(32, 64, 112, 112, device="cuda", requires_grad=True)
    scores = torch.randn(4096, 10000, device="cuda")
    truth = torch.rand(4096, 4096, device="cuda") > 0.5
    calls = {
        "sum dim 0": lambda: x.sum(0),
        "sum dim 1": lambda: x.sum(1),
        "mean all": x.mean,
        "amax dim 0": lambda: x.amax(0),
        "max dim 0": lambda: x.max(0),
        "max dim 1": lambda: x.max(1),
        "argmax dim 0": lambda: x.argmax(0),
        "var dim 0": lambda: x.var(0),
        "norm all": x.norm,
        "softmax": lambda: x.softmax(1),
        "softmax dim 0": lambda: x.softmax(0),
        "logsumexp": lambda: x.logsumexp(1),
        "sort": lambda: x.sort(1),
        "sort flat": lambda: x.flatten().sort(),
        "topk": lambda: x.topk(64, dim=1),
        "topk dim 0": lambda: x.topk(64, dim=0),
        "cumsum": lambda: x.cumsum(1),
        "cumsum flat": lambda: x.flatten().cumsum(0),
        "nonzero": truth.nonzero,
        "masked_select": lambda: x[:4096].masked_select(truth),
        "index bool": lambda: x[:4096][truth],
        "unique": i.unique,
        "randperm": lambda: torch.randperm(1_000_000, device="cuda"),
        "bincount": lambda: torch.bincount(i),
        "embedding backward": lambda: torch.ops.aten.embedding_dense_backward(x.view(-1, 1024)[:32768], i, 20000, -1, False),
        "index backward": lambda: torch.zeros(20000, 1024, device="cuda").index_put_((i,), x.view(-1, 1024)[:32768], accumulate=True),
        "index_add": lambda: torch.zeros(20000, 1024, device="cuda").index_add_(0, i, x.view(-1, 1024)[:32768]),
        "scatter_add": lambda: torch.zeros(20000, 1024, device="cuda").scatter_add_(0, i[:, None].expand(-1, 1024), x.view(-1, 1024)[:32768]),
        "cross_entropy": lambda: F.cross_entropy(scores, i[:4096] % 10000),
        "group_norm": lambda: F.group_norm(images, 8),
        "batch_norm": lambda: F.batch_norm(images, None, None, training=True),
        "instance_norm": lambda: F.instance_norm(images),
        "layer_norm": lambda: F.layer_norm(x, (4096,)),
        "interpolate": lambda: F.interpolate(images, scale_factor=2, mode="bilinear"),
        "unfold": lambda: F.unfold(images, 3, padding=1),
        "matmul broadcast": lambda: x.view(8, 1024, 4096) @ x.view(8, 1024, 4096).transpose(1, 2),
        "cdist": lambda: torch.cdist(x[:, :128], x[:, :128]),
        "svd": lambda: torch.linalg.svd(x[:512, :512]),
        "cholesky": lambda: torch.linalg.cholesky(torch.eye(2048, device="cuda")),
        "fft": lambda: torch.fft.rfft2(images),
    }  # fmt: skip
    for name, call in calls.items():
        try:
            yield {"op": name, **borrowed(call)}
        except Exception as error:  # noqa: BLE001 - one operation that this build lacks
            yield {"op": name, "error": f"{type(error).__name__}: {error}"[:200]}
    for name, norm in (("group_norm", lambda t: F.group_norm(t, 8, torch.ones(64, device="cuda", requires_grad=True))), ("batch_norm", lambda t: F.batch_norm(t, None, None, torch.ones(64, device="cuda", requires_grad=True), training=True)), ("layer_norm", lambda t: F.layer_norm(t, (112,), torch.ones(112, device="cuda", requires_grad=True)))):  # fmt: skip
        y = norm(images)
        g = torch.ones_like(y)
        yield {
            "op": f"{name} backward",
            **borrowed(lambda: torch.autograd.grad(y, images, g, retain_graph=True)),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--grid", type=float, metavar="SECONDS", help="random convolutions instead")
    options = parser.parse_args()
    found = {
        "torch": torch.__version__,
        "cudnn": torch.backends.cudnn.version(),
        "card": torch.cuda.get_device_name(),
    }
    if options.grid:
        write_grid(found, options.grid, options.json)
        return
    for part in (convolutions, recurrent, others):
        rows = found[part.__name__] = []
        try:
            rows.extend(part())
        except Exception as error:  # noqa: BLE001 - keep what the other parts found
            found[f"{part.__name__} failed"] = f"{type(error).__name__}: {error}"[:400]
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
