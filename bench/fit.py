"""Is what `premortem fit` predicts true? Some eighty configurations, predicted without a GPU, then measured on one.

python bench/fit.py predict --json bench/results/fit-predicted.json    # no GPU
python bench/fit.py measure --json bench/results/fit-measured.json     # on the card
python bench/fit.py compare                                            # the table
python bench/fit.py verdicts-predict, then verdicts                    # does what is said to fit run out of memory?
python bench/fit.py alive NAME                                         # on the card: what is alive at the peak
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import json
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import fit_alive
import fit_models
import fit_verdicts
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

RESULTS = Path(__file__).resolve().parent / "results"
GIB, MIB = 2**30, 2**20
CARD = "h200"
STEPS, FEW = 8, 3  # few: in a search
MOST_STEPS = 40  # a gradient scaler may skip the first ones, and Adam has no state before its first step
MADE = 2  # steps of each optimizer that were not skipped
CHUNK = 5  # configurations in one process
MOST_BATCH = 1 << 17


def chosen(options) -> list[str]:
    names = [name for name, config in fit_models.ALL.items() if options.half in {"all", config.half}]
    return [name for name in names if not options.names or name in options.names]


def largest(fits, start: int) -> int:
    """The largest batch that fits: doubled until it does not, then halved in between. 0 when none does."""
    low, high = 0, start
    while high <= MOST_BATCH and fits(high):
        low, high = high, high * 2
    while high - low > max(1, low // 256):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


# --- prediction ------------------------------------------------------------------------------


def predict(options) -> None:
    from premortem.fit import gpus
    from premortem.fit.prediction import predict as predicted

    card = gpus.by_name(CARD)
    out = _read(options.json)
    out.update(torch=torch.__version__, card=card.title, transformers=_version("transformers"))
    rows = out.setdefault("configurations", {})
    for name in chosen(options):
        config = fit_models.ALL[name]
        started = time.time()
        rehearsed = _rehearsals(config, card)
        trace = rehearsed(config.batch)
        found = predicted(trace)
        row = rows[name] = {
            "batch": config.batch,
            "held_out": config.held_out,
            "half": config.half,
            "allocated": found.allocated,
            "reserved": found.reserved,
            "kinds": found.kinds,
            "phase": found.phase,
            "seconds": round(time.time() - started, 1),
            "assumptions": [a.replace(str(Path.cwd()), ".") for a in trace.assumptions if "site" not in a][
                :3
            ],
            **formulas(trace),
        }
        if config.limit and not options.quick:
            room = int(config.limit * GIB)
            row["limit"] = room
            row["largest_batch"] = fit_verdicts.edge(rehearsed, room, config.batch)
        print(
            f"{name:40s} {found.allocated / MIB:9.1f} {found.reserved / MIB:9.1f} MiB  {row['seconds']} s  largest {row.get('largest_batch', '')}",
            flush=True,
        )
        _write(options.json, out)


def _rehearsals(config, card):
    """Rehearse with a batch; each once."""
    from premortem.fit.session import rehearse

    @functools.cache
    def rehearsed(batch: int):
        def run():
            step = config.build(batch)
            while True:
                step()

        return rehearse(run, card)

    return rehearsed


def predict_verdicts(options) -> None:
    from premortem.fit import gpus

    out = _read(options.json)
    for name in chosen(options):
        if name not in out:
            config = fit_models.ALL[name]
            trace = _rehearsals(config, gpus.by_name(CARD))(config.batch)
            out[name] = fit_verdicts.predicted(trace, config.batch)
            print(name, out[name], flush=True)
            _write(options.json, out)


def stock(options) -> None:
    """torch's own MemTracker on the same fakes, without the card's decisions, workspaces and allocator."""
    from torch.distributed._tools.mem_tracker import MemTracker

    from premortem.fit import gpus
    from premortem.fit.fakes import Fakes
    from premortem.fit.pretend import pretending

    out = _read(options.json)
    for name in chosen(options):
        config = fit_models.ALL[name]
        fakes, tracker = Fakes(gpus.by_name(CARD)), MemTracker()
        try:
            with pretending(fakes), fakes, tracker:
                step = config.build(config.batch)
                for _ in range(2):
                    step()
                    tracker.reset_mod_stats()
            highest = tracker.get_tracker_snapshot("peak").values()
            out["configurations"][name]["memtracker"] = max(peak.get("Total", 0) for peak in highest)
        except Exception as error:  # noqa: BLE001 - it cannot be applied to everything
            out["configurations"][name]["memtracker_error"] = f"{type(error).__name__}: {error}"[:200]
        _write(options.json, out)


def formulas(trace) -> dict[str, int]:
    """What people use instead: the weights four times over, sixteen bytes a parameter (as `accelerate estimate-memory`
    has it for Adam), and the weights twice and ten gigabytes."""
    weights = sum(a.bytes for a in trace.allocations if a.kind == "parameters")
    return {"weights_times_four": 4 * weights, "weights_times_two_and_10_gb": 2 * weights + 10**10}


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


# --- measurement -----------------------------------------------------------------------------


def measure(options) -> None:
    out = _read(options.json)
    out.update(
        torch=torch.__version__,
        card=torch.cuda.get_device_name(),
        cudnn=torch.backends.cudnn.version(),
        transformers=_version("transformers"),
    )
    rows = out.setdefault("configurations", {})
    names = chosen(options)
    for start in range(0, len(names), CHUNK):
        chunk = names[start : start + CHUNK]
        for group in (chunk, *[[name] for name in chunk]):
            left = [name for name in group if name not in rows]
            for name, row in _in_process(left, "one"):
                rows[name] = row
                _write(options.json, out)
            if len(group) == 1 and group[0] not in rows:
                rows[group[0]] = {"error": "no answer"}
    if options.scratch:
        command = [
            sys.executable,
            str(Path(__file__).with_name("fit_scratch.py")),
            "--json",
            str(options.scratch),
        ]
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, check=False, timeout=150)


def verdicts(options) -> None:
    """Under the limits and with the batches of the predictions, which are there before."""
    guesses, out = _read(options.predicted), _read(options.json)
    names = [name for name in guesses if name not in out and (not options.names or name in options.names)]
    for start in range(0, len(names), CHUNK):
        more = ("--predicted", str(options.predicted))
        for name, row in _in_process(names[start : start + CHUNK], "one-verdict", *more):
            out[name] = row
            _write(options.json, out)


def one_verdict(options) -> None:
    guesses = _read(options.predicted)
    for name in options.names:
        row = fit_verdicts.measured(fit_models.ALL[name].build, guesses[name], peaks)
        print("@@" + json.dumps({"name": name, **row}), flush=True)


def _in_process(names: list[str], what: str, *more: str) -> Iterator[tuple[str, dict]]:
    """Each row as soon as it is there."""
    if not names:
        return
    command = [sys.executable, __file__, what, *names, *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    alarm = threading.Timer(60 + 25 * len(names), process.kill)
    alarm.start()
    try:
        for line in process.stdout:
            if line.startswith("@@"):
                row = json.loads(line[2:])
                print(row, flush=True)
                yield row.pop("name"), row
    finally:
        alarm.cancel()
        process.kill()
        process.wait()


def one(options) -> None:
    for name in options.names:
        config = fit_models.ALL[name]
        row = {"name": name, "batch": config.batch, **peaks(config.build, config.batch)}
        if config.limit:
            total = torch.cuda.get_device_properties(0).total_memory
            torch.cuda.set_per_process_memory_fraction(config.limit * GIB / total)
            started = time.time()
            runs = functools.partial(_runs, config.build)
            row["largest_batch"] = largest(runs, config.batch)
            row["bisection_seconds"] = round(time.time() - started, 1)
            torch.cuda.set_per_process_memory_fraction(1.0)
        print("@@" + json.dumps(row), flush=True)


def _runs(build, batch: int) -> bool:
    return "error" not in peaks(build, batch, FEW)


def peaks(build, batch: int, steps: int = STEPS) -> dict:
    """On an empty cache; what a process before it has left does not count."""
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.reset_accumulated_memory_stats()
    torch.manual_seed(0)
    left = torch.cuda.memory_allocated()
    counts: dict[int, int] = {}

    def count(optimizer, *_):
        counts[id(optimizer)] = counts.get(id(optimizer), 0) + 1

    hook = register_optimizer_step_post_hook(count)
    try:
        step = build(batch)
        for n in range(MOST_STEPS):
            if n >= steps and min(counts.values(), default=0) >= MADE:
                break
            step()
        torch.cuda.synchronize()
        return {
            "allocated": torch.cuda.max_memory_allocated() - left,
            "reserved": torch.cuda.max_memory_reserved(),
            "left_before": left,
            "steps": n,
            "made": min(counts.values(), default=0),
        }
    except torch.cuda.OutOfMemoryError:
        return {"error": "out of memory"}
    except Exception as error:  # noqa: BLE001 - told with the others
        return {"error": f"{type(error).__name__}: {error}"[:300]}
    finally:
        hook.remove()


def alive(options) -> None:
    out = _read(options.json)
    for name in options.names:
        config = fit_models.ALL[name]
        found, rows = fit_alive.recorded(lambda c=config: peaks(c.build, c.batch))
        out[name] = found | {"alive": rows}
        _write(options.json, out)


# --- the table -------------------------------------------------------------------------------


def compare(options) -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
    from pages import fit_summary, fit_table

    guesses, truths = _read(options.predicted)["configurations"], _read(options.json)["configurations"]
    print(fit_table(guesses, truths), fit_summary(guesses, truths), sep="\n\n")


def _read(path: Path) -> dict:
    return json.loads(path.read_text()) if path.exists() else {}


def _write(path: Path, what: dict) -> None:
    path.write_text(json.dumps(what, indent=1) + "\n")


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=list(COMMANDS))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--predicted", type=Path)
    parser.add_argument("--half", choices=("all", "tuned", "held-out", "fresh", "last"), default="all")
    parser.add_argument(
        "--scratch", type=Path, help="measure: also what single kernels borrow, into this file"
    )
    parser.add_argument("--quick", action="store_true", help="predict: not the largest batch")
    options = parser.parse_args()
    verdict = "verdict" in options.what
    words = "fit-verdicts" if verdict else "fit"
    options.predicted = options.predicted or RESULTS / f"{words}-predicted.json"
    before = options.what in {"predict", "stock", "verdicts-predict"}
    options.json = options.json or (options.predicted if before else RESULTS / f"{words}-measured.json")
    COMMANDS[options.what](options)


COMMANDS = {
    "predict": predict,
    "stock": stock,
    "measure": measure,
    "one": one,
    "compare": compare,
    "verdicts-predict": predict_verdicts,
    "verdicts": verdicts,
    "one-verdict": one_verdict,
    "alive": alive,
}

if __name__ == "__main__":
    main()
