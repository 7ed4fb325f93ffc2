"""Ranks that are killed, and what the run goes on from.

    python bench/elastic.py [--kills 20] [--plain] [--json bench/results/elastic.json]

Two ranks under `premortem run --nproc 2 --max-restarts N`, DistributedDataParallel, a checkpoint every five steps: of weights
and moments, and of what each rank has of its own (random states, the order of its data, a module that is not shared).
One rank after the other, chosen by lot, gets SIGKILL at a random moment of its life: while torch is imported, in a resume,
in a step, in a save. After every step each rank writes down a hash of all it holds. Then the same training runs once more
and nobody is killed: every hash of every attempt must be the hash of that step.

With `--plain` the script has no vault: the first rank calls torch.save, all of them torch.load.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

EVERY = 5  # steps between two checkpoints
# A kill comes so many seconds after one of these, at most. Most ranks get as far as their training.
MOMENTS = (("up", 5.0), ("resumed", 2.5), ("resumed", 2.5), ("resumed", 0.5))
AFTER = 30  # steps that follow the last kill
ENDLESS = 1_000_000
PATIENCE = 600.0


# --- one rank --------------------------------------------------------------------------------


def rank(folder: Path, plain: bool) -> None:
    number = int(os.environ["RANK"])
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    log = os.open(folder / f"rank-{number}.jsonl", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)

    def note(event: str, **facts: Any) -> None:
        record = {"event": event, "attempt": attempt, "pid": os.getpid(), "at": time.time(), **facts}
        os.write(log, (json.dumps(record) + "\n").encode())

    note("up")
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    import premortem

    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(64, 512), nn.ReLU(), nn.Dropout(0.2), nn.Linear(512, 512), nn.Linear(512, 1)
    )
    bank = nn.Linear(64, 64, bias=False)
    ddp = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    inputs = torch.randn(4096, 64)
    torch.manual_seed(100 + number)
    order = None if plain else torch.Generator().manual_seed(number)
    loader = premortem.ResumableLoader(
        torch.utils.data.TensorDataset(inputs), batch_size=16, shuffle=True, generator=order
    )
    pieces = {"model": ddp, "optimizer": optimizer, "loader": loader, "own": {"bank": bank}}
    file = folder / "plain.pt"
    vault = None if plain else premortem.Vault(folder / "vault", keep=3, each_rank=True)

    def digest() -> str:
        held = hashlib.sha256()
        tensors = [*model.state_dict().values()]
        tensors += [value for state in optimizer.state.values() for value in state.values()]
        for tensor in tensors if plain else [*tensors, bank.weight.detach(), torch.get_rng_state()]:
            held.update(tensor.contiguous().numpy().tobytes())
        return held.hexdigest()[:16]

    start = 0
    if vault is not None:
        start = vault.resume(**pieces, quiet=True).start
    elif file.exists():
        saved = torch.load(file)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        start = saved["step"] + 1
    note("resumed", step=start - 1, hash=digest())
    saving = None
    goal = folder / "goal"
    batches = iter(loader)
    for step in range(start, ENDLESS):
        if plain:  # its data and its draws follow from the step
            torch.manual_seed(1000 * step + number)
            batch = inputs[torch.randint(4096, (16,))]
        else:
            try:
                (batch,) = next(batches)
            except StopIteration:
                batches = iter(loader)
                (batch,) = next(batches)
        loss = (ddp(batch) - batch.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            bank.weight.add_(1e-3 * batch.t() @ batch)
        now = digest()
        if step % EVERY == 0:
            if vault is not None:
                if saving is not None and number == 0:
                    saving.wait()
                    note("saved", step=saving.step)
                note("saving", step=step)
                saving = vault.save(step, **pieces)
            elif number == 0:
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                torch.save({**state, "step": step}, file)
                note("saved", step=step)
        note("step", step=step, hash=now)
        time.sleep(0.01)
        if goal.exists() and step >= int(goal.read_text()):
            break
    if vault is not None:
        vault.close()
    dist.destroy_process_group()
    note("done")


# --- the launcher, and what it makes of their notes --------------------------------------------


class Logs:
    def __init__(self, folder: Path, ranks: int) -> None:
        self.paths = [folder / f"rank-{number}.jsonl" for number in range(ranks)]

    def read(self) -> list[list[dict[str, Any]]]:
        return [
            [json.loads(line) for line in path.read_text().split("\n")[:-1]] if path.exists() else []
            for path in self.paths
        ]


def launch(folder: Path, ranks: int, restarts: int, plain: bool) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "premortem", "run", "--nproc", str(ranks)]
    command += ["--max-restarts", str(restarts)] if restarts else []
    command += ["--folder", str(folder / "run"), "--findings", str(folder / "found.json")]
    command += [__file__, "--rank", str(folder), *(["--plain"] if plain else [])]
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    with (folder / "output.txt").open("w") as output:
        return subprocess.Popen(command, stdout=output, stderr=output, text=True, env=variables)


def killed(folder: Path, ranks: int, kills: int, plain: bool, seed: int) -> dict[str, Any]:
    """Run it, kill ranks, and let it come to its end."""
    lot = random.Random(seed)
    logs = Logs(folder, ranks)
    process = launch(folder, ranks, kills, plain)
    deaths = []
    try:
        for number in range(kills):
            (event, most), victim = lot.choice(MOMENTS), lot.randrange(ranks)
            moment = lot.uniform(0.0, most)
            born = _wait(process, lambda v=victim, n=number, e=event: _find(logs.read()[v], e, n))
            time.sleep(max(0.0, born["at"] + moment - time.time()))
            before = logs.read()
            os.kill(born["pid"], signal.SIGKILL)
            deaths.append({"rank": victim, "in": _doing(before[victim], number)})
        last = _wait(process, lambda: _find(logs.read()[0], "step", kills))
        (folder / "draft").write_text(str(last["step"] + AFTER))
        (folder / "draft").replace(folder / "goal")
        code = process.wait(PATIENCE)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    return {"deaths": deaths, "exit code": code, **account(logs.read(), deaths)}


def account(logs: list[list[dict[str, Any]]], deaths: list[dict[str, Any]]) -> dict[str, Any]:
    """What was lost at each restart, and whether all ranks went on from the same state."""
    lost, short, mixed = [], 0, 0
    for number in range(1, len(deaths) + 1):
        resumed = [_find(log, "resumed", number) for log in logs]
        known = [each for each in resumed if each is not None]
        if not known:  # killed before it came so far
            continue
        mixed += len({each["step"] for each in known}) > 1
        past = [note for log in logs for note in log if note["attempt"] < number]
        reached = max((note["step"] for note in past if note["event"] == "step"), default=-1)
        saved = max((note["step"] for note in past if note["event"] == "saved"), default=-1)
        lost.append(reached - known[0]["step"])
        short += known[0]["step"] < saved
    return {
        "restarts that came to a resume": len(lost),
        "steps lost": lost,
        "older than the newest complete checkpoint": short,
        "ranks at different steps": mixed,
    }


def compared(logs: list[list[dict[str, Any]]], undisturbed: list[list[dict[str, Any]]]) -> dict[str, int]:
    """Every hash of the killed run against the hash of that step in the run that was left alone."""
    right = [{n["step"]: n["hash"] for n in log if n["event"] == "step"} for log in undisturbed]
    told = [
        (known.get(note["step"]), note["hash"])
        for log, known in zip(logs, right, strict=True)
        for note in log
        if note["event"] in {"step", "resumed"} and note["step"] >= 0
    ]
    return {"states compared": len(told), "states that differ": sum(one != other for one, other in told)}


def _find(log: list[dict[str, Any]], event: str, attempt: int) -> dict[str, Any] | None:
    return next((note for note in log if (note["event"], note["attempt"]) == (event, attempt)), None)


def _doing(log: list[dict[str, Any]], attempt: int) -> str:
    """What the rank did last, as far as it said so."""
    last = [note["event"] for note in log if note["attempt"] == attempt][-1]
    return {"up": "imports or resume", "resumed": "first step", "saving": "save", "saved": "save"}.get(
        last, "training"
    )


def _wait(process: subprocess.Popen[str], look: Any) -> Any:
    until = time.monotonic() + PATIENCE
    while (found := look()) is None:
        if process.poll() is not None:
            raise RuntimeError(f"the run ended by itself, with exit code {process.returncode}")
        if time.monotonic() > until:
            raise RuntimeError("the run does not go on")
        time.sleep(0.01)
    return found


def measure(
    folder: Path, kills: int, *, plain: bool = False, ranks: int = 2, seed: int = 7
) -> dict[str, Any]:
    mine, alone = folder / "killed", folder / "alone"
    mine.mkdir()
    alone.mkdir()
    result = killed(mine, ranks, kills, plain, seed)
    (alone / "goal").write_text((mine / "goal").read_text())
    if launch(alone, ranks, 0, plain).wait(PATIENCE) != 0:
        raise RuntimeError((alone / "output.txt").read_text()[-2000:])
    result |= compared(Logs(mine, ranks).read(), Logs(alone, ranks).read())
    found = json.loads((mine / "found.json").read_text())
    result["restarts told"] = found["run"]["restarts"]
    result["findings"] = [finding["name"] for finding in found["findings"]]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rank", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank is not None:
        rank(options.rank, options.plain)
        return
    with tempfile.TemporaryDirectory() as folder:
        result = measure(Path(folder), options.kills, plain=options.plain, seed=options.seed)
    print(json.dumps(result, indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
