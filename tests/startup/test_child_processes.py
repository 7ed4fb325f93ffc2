"""Processes that a watched script starts: told of the run, and as they would be without it."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import premortem
from premortem.startup.children import VARIABLE, may_be_python
from tests import starting

SRC = str(Path(premortem.__file__).parents[1])
ENVIRONMENT = {**os.environ, "PYTHONPATH": SRC, "OMP_NUM_THREADS": "1", "_": "-"}
QUIET = [sys.executable, "-m", "premortem", "run", "--quiet", "--folder", "run"]
# All that a process can see of how it was started.
SEEN = """
import json, os, sys
def facts():
    known = {"__future__", "_posixsubprocess", "premortem.startup.import_hook", "premortem.startup.children"}
    return json.dumps({
        "argv": sys.argv, "orig_argv": sys.orig_argv, "path": sys.path, "flags": str(sys.flags),
        "environ": sorted(os.environ.items()), "warnoptions": sys.warnoptions, "stdin": sys.stdin.read(),
        "modules": sorted(set(sys.modules) - known), "importers": sorted(map(str, sys.path_importer_cache)),
        "excepthook": str(sys.excepthook), "name": __name__, "file": __file__,
    })
if __name__ == "__main__":
    print(facts())
"""


class Place:
    def __init__(self, folder):
        self.folder = folder

    def script(self, name, code):
        (self.folder / name).write_text(textwrap.dedent(code))

    def run(self, command, env=ENVIRONMENT, forked=False):
        """`forked`: from a process that has loaded torch, which takes seconds otherwise."""
        if forked:
            done = starting.run(command, cwd=self.folder, env=env, timeout=120)
        else:
            done = subprocess.run(
                command,
                cwd=self.folder,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
        return done.returncode, done.stdout, done.stderr

    def same(self, code, name="script.py", env=ENVIRONMENT, forked=False):
        """What plain Python does, and premortem too."""
        self.script(name, code)
        plain = self.run([sys.executable, name], env, forked)
        assert self.run([*QUIET, name], env, forked) == plain
        return plain


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    place.script("seen.py", SEEN)
    return place


FLAGS = [[], ["-I"], ["-E"], ["-S"], ["-B", "-W", "error"], ["-X", "dev"]]


def test_a_python_that_is_started_sees_no_difference(place):
    code = f"""
        import subprocess, sys
        for flags in {FLAGS!r}:
            words = [["seen.py", "a b"], ["-c", {SEEN!r}.replace("__file__", "0")]]
            words += [["-m", "seen"]] if not flags else []
            for each in words:
                command = [sys.executable, *flags, *each]
                done = subprocess.run(command, input="given", capture_output=True, text=True)
                print(done.returncode, done.stdout, done.stderr)
    """
    _, out, _ = place.same(code)
    assert out.count('"stdin": "given"') == out.count('"stdin"') == 13


def test_every_way_to_start_one(place):
    code = """
        import os, subprocess, sys
        print(subprocess.run([sys.executable, "seen.py"], env={**os.environ, "PYTHONPATH": "/nowhere", "A": "1"},
                             capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout)
        print(subprocess.run([sys.executable, "seen.py"], env={"A": "1"}, capture_output=True, text=True,
                             stdin=subprocess.DEVNULL).stdout)
        print(subprocess.run(["env"], capture_output=True, text=True).stdout)
        print(subprocess.run(f"{sys.executable} seen.py | cat", shell=True, capture_output=True, text=True).stdout)
        print(os.popen("echo $0; nothing_of_that_name 2>&1").read(), flush=True)
        print(os.system(f"{sys.executable} seen.py; exit 7"), flush=True)
        print(os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "seen.py", "spawnv"]), flush=True)
        child = os.posix_spawn(sys.executable, [sys.executable, "seen.py", "posix"], os.environ)
        print(os.waitpid(child, 0)[1], flush=True)
        try:
            subprocess.run(["python-of-no-kind", "x.py"])
        except FileNotFoundError as error:
            print(error)
        os.execv(sys.executable, [sys.executable, "seen.py", "execv"])
    """
    _, out, err = place.same(code)
    assert (out.count('"argv"'), VARIABLE in out, err) == (7, False, "")


def test_the_users_own_sitecustomize_still_runs(place):
    place.script("sitecustomize.py", "import sys; sys.custom = __file__")
    env = {**ENVIRONMENT, "PYTHONPATH": f"{place.folder}{os.pathsep}{SRC}"}
    code = """
        import subprocess, sys
        words = "import sys; print(sys.custom, sys.modules['sitecustomize'].__file__)"
        print(subprocess.run([sys.executable, "-c", words], capture_output=True, text=True))
    """
    assert "sitecustomize.py" in place.same(code, env=env)[1]


def test_another_python_is_left_as_it_is(place):
    other = place.folder / "other"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(other)], check=True)
    code = f"""
        import subprocess
        print(subprocess.run([{str(other / "bin" / "python")!r}, "seen.py"], capture_output=True, text=True,
                             stdin=subprocess.DEVNULL))
    """
    assert str(other) in place.same(code)[1]


def test_exit_codes_signals_and_grandchildren(place):
    place.script(
        "child.py", "import os, sys; sys.exit(5) if sys.argv[1] == 'exit' else os.kill(os.getpid(), 9)"
    )
    place.script(
        "launcher.py",
        """
        import os, subprocess, sys
        env = os.environ.copy()
        print(subprocess.run([sys.executable, "seen.py"], env=env, stdin=subprocess.DEVNULL).returncode, flush=True)
        sys.exit(subprocess.run([sys.executable, "child.py", "exit"]).returncode)
    """,
    )
    code = """
        import subprocess, sys
        print(subprocess.run([sys.executable, "child.py", "kill"]).returncode, flush=True)
        print(subprocess.run([sys.executable, "launcher.py"]).returncode)
    """
    _, out, err = place.same(code)
    assert (out.splitlines()[0], out.splitlines()[-1], err) == ("-9", "5", "")


def test_a_child_that_never_trains_imports_nothing_of_ours(place):
    place.script(
        "script.py",
        """
        import subprocess, sys
        words = "import sys; print(sorted(name for name in sys.modules if 'premortem' in name), 'typing' in sys.modules)"
        print(subprocess.run([sys.executable, "-c", words], capture_output=True, text=True).stdout)
    """,
    )
    _, out, _ = place.run([*QUIET, "script.py"])
    assert out.split() == ["['premortem.startup.children',", "'premortem.startup.import_hook']", "False"]


COMMANDS = [
    ([sys.executable, "train.py"], True),
    (["python3.12", "-u", "-m", "package"], True),
    (["python", "-Im", "package"], None),
    (["python", "-W", "ignore", "-S", "x.py"], None),
    (["python", "-c", "print('-I')", "-I"], True),
    (["sh", "-c", "cd x && python train.py"], True),
    (["sh", "-c", "ls -l | wc"], False),
    (["bash", "train.sh"], True),
    (["nohup", "python", "train.py"], True),
    (["mpirun", "-n", "2", "./train.py"], True),
    (["git", "log"], False),
    (["env"], False),
    ([], False),
]


@pytest.mark.parametrize(("words", "told"), COMMANDS)
def test_which_commands_may_start_a_python(words, told):
    assert may_be_python(words) is told


def test_a_program_that_begins_with_a_python_may_be_one(tmp_path, monkeypatch):
    program = tmp_path / "launch-it"
    program.write_text(f"#!{sys.executable}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert may_be_python(["launch-it", "train"]) is True


def test_nothing_of_ours_outlives_the_run(place):
    place.script("child.py", "import time\nprint('there', flush=True)\ntime.sleep(60)")
    place.script("script.py", "import subprocess, sys; subprocess.run([sys.executable, 'child.py'])")
    process = subprocess.Popen(
        [*QUIET, "script.py"],
        cwd=place.folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout.readline() == "there\n"
        process.kill()
        process.wait()
        # What is left is the user's own child, as it would be in plain Python, and nothing besides.
        left = [
            path.parent.name
            for path in Path("/proc").glob("[0-9]*/stat")
            if path.read_text().rpartition(")")[2].split()[3] == str(process.pid)
        ]
        assert len(left) == 1
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()


# --- children that train ---------------------------------------------------------------------

TRAIN = """
import sys, torch
def train(number=0, steps=12, clears=True):
    torch.manual_seed(number)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        x = torch.randn(8, 4)
        if clears:
            optimizer.zero_grad()
        (model(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()
    print(f"trained {model.weight.sum().item():.6f}", flush=True)
if __name__ == "__main__":
    train(clears="leaves" not in sys.argv)
"""


def watched(place, code, forked=True):
    """What premortem printed, and FILE.json."""
    place.script("train.py", TRAIN)
    place.script("script.py", code)
    command = [sys.executable, "-m", "premortem", "run", "--folder", "run", "--findings", "f.json"]
    code, _, err = place.run([*command, "script.py"], forked=forked)
    assert code == 0, err
    return err, json.loads((place.folder / "f.json").read_text())


def test_a_script_that_is_started_is_watched_and_its_findings_are_the_runs(place):
    code = """
        import subprocess, sys
        done = subprocess.run([sys.executable, "train.py", "leaves"], capture_output=True, text=True)
        print(done.stdout, done.stderr, done.returncode)
    """
    err, record = watched(place, code)
    (finding,) = record["findings"]
    assert (finding["code"], finding["evidence"]["child_process"]) == ("PM122", "1 (train.py leaves)")
    (child,) = record["run"]["watched"]["children"]
    assert (record["run"]["steps"], child["steps"], child["reason"]) == (12, 12, "finished")
    assert (place.folder / "run" / "child-1" / "journal.sqlite").exists()
    assert (
        err.count("error PM122") == err.count("premortem watched 12 steps in 1 child process: 1 error") == 1
    )
    assert "child process 1 (train.py leaves)" in err


def test_forks_that_train_are_watched_and_workers_of_a_loader_are_not(place):
    code = """
        import multiprocessing, sys, torch
        from torch.utils.data import DataLoader, TensorDataset
        from train import train
        class Points(TensorDataset):
            def __getitem__(self, index):
                ours = sorted(name for name in sys.modules if name.startswith("premortem"))
                assert "premortem.run.child_run" not in ours
                return super().__getitem__(index)
        if __name__ == "__main__":
            loader = DataLoader(Points(torch.randn(8, 2)), num_workers=2)
            print(len(list(loader)))
            processes = [multiprocessing.get_context("fork").Process(target=train, args=(n,)) for n in range(2)]
            for each in processes:
                each.start()
            for each in processes:
                each.join()
            print([each.exitcode for each in processes])
    """
    err, record = watched(place, code)
    assert [child["steps"] for child in record["run"]["watched"]["children"]] == [12, 12]
    assert record["findings"] == []
    assert "premortem watched 24 steps in 2 child processes: nothing to report" in err


def test_an_optimizer_that_came_from_the_parent(place):
    """Its first step is over when the child is known to train."""
    code = """
        import multiprocessing, sys, torch
        from torch.optim.optimizer import register_optimizer_step_post_hook
        def train(model, optimizer):
            for _ in range(6):
                x = torch.randn(8, 4)
                optimizer.zero_grad()
                (model(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
                optimizer.step()
        def hooked(model, optimizer):
            register_optimizer_step_post_hook(lambda *_: None)
            train(model, optimizer)
        if __name__ == "__main__":
            model = torch.nn.Linear(4, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            train(model, optimizer)
            for target in (train, hooked):
                process = multiprocessing.get_context("fork").Process(target=target, args=(model, optimizer))
                process.start()
                process.join()
                assert process.exitcode == 0
    """
    _, record = watched(place, code)
    assert [child["steps"] for child in record["run"]["watched"]["children"]] == [5]
    assert (record["run"]["steps"], record["findings"]) == (11, [])
    assert record["run"]["watched"]["missed"] == [
        f"a child process: {Path(sys.executable).name} script.py (RuntimeError: hooks of the script's own stand after premortem's)"
    ]


GROUP = """
import os, socket, sys, torch, torch.distributed as dist, torch.multiprocessing as mp
def train(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.manual_seed(rank)
    for _ in range(8):
        x = torch.randn(8, 4)
        optimizer.zero_grad()
        (model(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()
    dist.destroy_process_group()
if __name__ == "__main__":
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        port = made.getsockname()[1]
    mp.start_processes(train, (port,), nprocs=2, start_method="METHOD")
    print("trained")
"""


@pytest.mark.parametrize(
    "method",
    ["fork", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("spawn", "forkserver"))],
)
def test_children_that_form_a_group_are_ranks(method, place):
    err, record = watched(place, GROUP.replace("METHOD", method), forked=method == "fork")
    assert [child["rank"] for child in record["run"]["watched"]["children"]] == [0, 1]
    assert (record["run"]["steps"], record["findings"]) == (8, [])
    assert {path.name for path in (place.folder / "run").glob("rank-*")} == {"rank-0", "rank-1"}
    assert "premortem watched 8 steps in 2 child processes: nothing to report" in err


@pytest.mark.exhaustive
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_trainers_that_share_a_model(method, place):
    code = f"""
        import torch, torch.multiprocessing as mp
        def train(number, model):
            torch.manual_seed(number)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            for _ in range(10):
                x = torch.randn(8, 4)
                optimizer.zero_grad()
                (model(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
                optimizer.step()
        if __name__ == "__main__":
            mp.set_start_method({method!r})
            model = torch.nn.Linear(4, 1).share_memory()
            processes = [mp.Process(target=train, args=(n, model)) for n in range(2)]
            for each in processes:
                each.start()
            for each in processes:
                each.join()
            print([each.exitcode for each in processes])
    """
    _, record = watched(place, code, forked=False)
    assert [child["steps"] for child in record["run"]["watched"]["children"]] == [10, 10]
    assert record["findings"] == []


def test_a_child_that_is_stopped_stops_the_run(place):
    code = """
        import sys
        import subprocess
        sys.exit(subprocess.run([sys.executable, "train.py", "leaves"]).returncode)
    """
    place.script("train.py", TRAIN)
    place.script("script.py", code)
    command = [sys.executable, "-m", "premortem", "run", "--folder", "run", "--findings", "f.json"]
    code, out, err = place.run([*command, "--policy", "strict", "script.py"])
    assert (code, out) == (3, ""), err
    record = json.loads((place.folder / "f.json").read_text())
    assert (record["run"]["reason"], record["run"]["exit_code"]) == ("stopped", 3)
    assert "premortem stopped this run after" in err


def test_a_traceback_of_a_child_shows_no_frame_of_premortem(place):
    code = """
        import multiprocessing, torch
        class Model(torch.nn.Linear):
            def forward(self, x):
                assert x.shape[1] == 4, "of the script"
                return super().forward(x)
        def train():
            model = Model(4, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            model(torch.ones(3, 4)).mean().backward()
            optimizer.step()
            model(torch.ones(3, 5))
        if __name__ == "__main__":
            process = multiprocessing.get_context("fork").Process(target=train)
            process.start()
            process.join()
    """
    assert "AssertionError: of the script" in place.same(code, forked=True)[2]


LATE = """
import importlib.util, sys
spec = importlib.util.find_spec("torch")
torch = sys.modules["torch"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(torch)
model = torch.nn.Linear(4, 1)
print("built")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(6):
    optimizer.zero_grad()
    x = torch.randn(8, 4)
    (model(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
    optimizer.step()
"""


@pytest.mark.exhaustive  # with a package that stands for torch: test_arrivals.py
def test_torch_that_came_by_hand_is_watched_late_and_the_summary_says_so(place):
    err, record = watched(place, LATE, forked=False)
    assert (record["run"]["steps"], record["findings"]) == (6, [])
    assert record["run"]["watched"]["missed"] == [
        "what was done with torch before premortem saw that it was there"
    ]
    assert "  not looked at: what was done with torch before premortem saw that it was there" in err


THREADS = """
import threading
def prepare():
    import torch
def train():
    from train import train
    train()
for call in (prepare, train):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
"""


def test_torch_that_is_imported_in_one_thread_and_used_in_another(place):
    _, record = watched(place, THREADS)
    assert (record["run"]["steps"], record["findings"]) == (12, [])


def test_libraries_that_ask_for_torch_first(place):
    """As Transformers, Datasets, Evaluate and Accelerate do."""
    place.script(
        "lib.py", "import importlib.util\nhas_torch = importlib.util.find_spec('torch') is not None\n"
    )
    _, record = watched(place, "import lib\nassert lib.has_torch\nfrom train import train\ntrain()\n")
    assert (record["run"]["steps"], record["findings"]) == (12, [])


@pytest.mark.exhaustive
def test_torch_that_was_there_before_us(place):
    place.script("sitecustomize.py", "import torch\n")
    place.script("train.py", TRAIN)
    env = {**ENVIRONMENT, "PYTHONPATH": f"{place.folder}{os.pathsep}{SRC}"}
    command = [
        sys.executable,
        "-m",
        "premortem",
        "run",
        "--folder",
        "run",
        "--findings",
        "f.json",
        "train.py",
    ]
    _, _, err = place.run(command, env)
    assert "premortem watched 12 steps: nothing to report" in err


# --- what was not looked at ------------------------------------------------------------------

REASONS = {
    "print(1)": "torch was never imported",
    "import subprocess, sys; subprocess.run([sys.executable, '-c', 'pass'])": (
        "torch was never imported, and no child process trained"
    ),
    "import subprocess, sys; subprocess.run([sys.executable, '-I', '-c', 'pass'])": (
        "training may have happened in a child process that is not watched: "
        f"{Path(sys.executable).name} -I -c ... (it does not read PYTHONPATH)"
    ),
    "import torch; torch.ones(1)": "torch was imported, but no optimizer was built",
    "import torch; kept = torch.optim.SGD([torch.ones(1, requires_grad=True)], 0.1)": (
        "an optimizer was built, but none made a step"
    ),
}


@pytest.mark.parametrize("code", REASONS)
def test_a_run_without_a_step_is_a_warning_with_its_reason(code, place):
    err, record = watched(place, code)
    assert f"warning: premortem saw no training step: {REASONS[code]}\n" in err
    assert record["run"]["watched"]["reason"] == REASONS[code]
    assert record["findings"] == []
    assert "nothing to report" not in err


def test_a_run_folder_that_was_deleted_is_said(place):
    err, record = watched(place, "import shutil\nshutil.rmtree('run', ignore_errors=True)\n")
    assert "was deleted while it went on" in " ".join(err.split())
    assert "premortem report" not in err
    assert len(record["run"]["watched"]["missed"]) == 1


def test_a_torch_that_cannot_be_watched_is_said(place):
    place.script("torch.py", "class optim: pass\n")
    err, record = watched(place, "import torch", forked=False)
    assert "could not attach to this torch" in record["run"]["watched"]["reason"]
    assert "warning: premortem saw no training step: premortem could not attach to this torch" in err


def test_quiet_stays_quiet(place):
    place.script("script.py", "print(1)")
    assert place.run([*QUIET, "script.py"]) == (0, "1\n", "")


def test_a_process_that_is_joined_at_exit_is_still_in_the_summary(place):
    code = """
        import multiprocessing
        from train import train
        if __name__ == "__main__":
            multiprocessing.get_context("fork").Process(target=train).start()
    """
    err, record = watched(place, code)
    assert (record["run"]["steps"], err.count("premortem watched 12 steps in 1 child process")) == (12, 1)


# --- frameworks ------------------------------------------------------------------------------

ACCELERATE = """
import torch
from accelerate import Accelerator
def main():
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(64, 4)
    data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for a, b in loader:
        optimizer.zero_grad()
        accelerator.backward((model(a) - b).pow(2).mean())
        optimizer.step()
if __name__ == "__main__":
    main()
"""
LAUNCH = """
import subprocess, sys
words = "--cpu --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no".split()
subprocess.run([sys.executable, "-m", "accelerate.commands.launch", *words, "acc.py"], check=True)
"""
TORCHRUN = """
import subprocess, sys
words = ["--standalone", "--nproc-per-node=2"]
subprocess.run([sys.executable, "-m", "torch.distributed.run", *words, "acc.py"], check=True)
"""
NOTEBOOK = """
from accelerate import notebook_launcher
def main():
    import acc
    acc.main()
if __name__ == "__main__":
    notebook_launcher(main, num_processes=2)
"""
LAUNCHERS = {
    "accelerate launch": (LAUNCH, 8, [None]),
    "torchrun": (TORCHRUN, 4, [0, 1]),
    "notebook_launcher": (NOTEBOOK, 4, [0, 1]),
}
LIGHTNING = """
import sys, torch, lightning
class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, index):
        return (self.layer(batch[0]) - batch[1]).pow(2).mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)
if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(64, 4)
    data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    trainer = lightning.Trainer(
        accelerator="cpu", devices=2, strategy="STRATEGY", max_epochs=1, enable_progress_bar=False, logger=False,
        enable_checkpointing=False, enable_model_summary=False,
    )
    trainer.fit(Model(), torch.utils.data.DataLoader(data, batch_size=8, shuffle=True))
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", LAUNCHERS)
def test_launchers_of_accelerate_and_torch(name, place):
    pytest.importorskip("accelerate")
    code, steps, ranks = LAUNCHERS[name]
    place.script("acc.py", ACCELERATE)
    _, record = watched(place, code, forked=False)
    assert [child["rank"] for child in record["run"]["watched"]["children"]] == ranks
    assert (record["run"]["steps"], record["findings"]) == (steps, [])


@pytest.mark.exhaustive
@pytest.mark.parametrize(("strategy", "ranks"), [("ddp_spawn", [0, 1]), ("ddp", [1])])
def test_launchers_of_lightning(strategy, ranks, place):
    """With `ddp` the first rank is the script's own process."""
    pytest.importorskip("lightning")
    _, record = watched(place, LIGHTNING.replace("STRATEGY", strategy), forked=False)
    assert [child["rank"] for child in record["run"]["watched"]["children"]] == ranks
    assert (record["run"]["steps"], record["findings"]) == (4, [])


def test_a_driver_that_lives_on_is_told_which_child_was_stopped(place):
    """The second of two, in a folder of its own, as Ray's workers are."""
    place.script(
        "script.py",
        """
        import os, subprocess, sys
        os.mkdir("elsewhere")
        for rate in ("0.01", "30.0"):
            command = [sys.executable, os.path.abspath("train.py"), rate]
            print(subprocess.run(command, cwd="elsewhere", stderr=subprocess.DEVNULL).returncode)
        """,
    )
    place.script(
        "train.py",
        """
        import sys, torch
        torch.manual_seed(0)
        x = torch.randn(64, 8)
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=float(sys.argv[1]))
        for _ in range(30):
            optimizer.zero_grad()
            (model(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
            optimizer.step()
        """,
    )
    command = [sys.executable, "-m", "premortem", "run", "--policy", "strict", "script.py"]
    code, out, err = place.run(command, forked=True)
    assert (code, out.split()) == (0, ["0", "3"])
    assert "steps in 2 child processes and stopped 1 of them: 1 error" in err
    (run,) = (place.folder / ".premortem" / "runs").iterdir()
    kept = f".premortem/runs/{run.name}"
    (read_on,) = (line for line in err.splitlines() if "premortem report" in line)
    assert read_on.split("; ") == [
        f"  premortem report {kept}/child-2",
        f"premortem sweep {kept}",
        "premortem explain PM213",
    ]
    assert "disk" not in err
