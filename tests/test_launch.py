"""`premortem run` next to plain `python`: the user must not see a difference, except what premortem says."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import premortem
from premortem.journal import Run

SRC = str(Path(premortem.__file__).parents[1])
ENVIRONMENT = {**os.environ, "PYTHONPATH": SRC, "PYTHONUNBUFFERED": "1"}
PLAIN = [sys.executable]
PREMORTEM = [sys.executable, "-m", "premortem", "run"]

# A watcher that finds what the script prints: "say 3" is a finding at step 3, "bug 1" a bug of the
# watcher's own, "stop 1" a decision to stop.
STANDIN = """
import sys, types
from premortem.errors import Stopped
from premortem.events import LogLine, RunEnded
from premortem.findings import Certainty, Finding, Severity
from premortem.run.quarantine import Quarantine

class Watcher:
    safekeeping = attachment = None
    optimizers, missed, silenced, proved = 0, {}, 0, None
    quarantine, left_out = Quarantine(), []
    def __init__(self, policy, journal, on_finding, on_problem, **vault):
        self.journal, self.on_finding = journal, on_finding
        self.findings, self.steps = [], 0
        self.detached = False
    def attach_when_torch_arrives(self):
        pass
    look_for_torch = attach_when_torch_arrives
    def gaps(self):
        return []
    def stand_aside(self):
        pass
    def emit(self, event):
        if isinstance(event, LogLine) and event.values:
            label, text, value = event.values[0]
            if label == "say":
                self.steps = int(value)
                self.find("said", number=float("nan"), thing=object)
            elif label == "bug":
                raise RuntimeError("a bug of premortem")
            elif label == "stop":
                raise Stopped("told to")
        if isinstance(event, RunEnded):
            self.find(f"{event.reason} {event.error} {event.message} {event.at}")
    def find(self, message, **evidence):
        finding = Finding(code="X101", name="x", family="lr", severity=Severity.ERROR,
                          certainty=Certainty.MEASURED, step=self.steps, message=message, evidence=evidence)
        self.findings.append(finding)
        if self.journal:
            self.journal.finding(finding)
        self.on_finding(finding)
    def close(self, ended, patience):
        self.emit(ended)

sys.modules["premortem.run.watcher"] = types.SimpleNamespace(Watcher=Watcher)
from premortem.cli import main
sys.exit(main(["run", *sys.argv[1:]]))
"""
WATCHED = [sys.executable, "-c", STANDIN]


class Place:
    """A folder with the user's program in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script("train.py", "")

    def script(self, name: str, code: str | bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(code if isinstance(code, bytes) else textwrap.dedent(code).encode())

    def run(self, command, *arguments, **options):
        return subprocess.run(
            [*command, *map(str, arguments)],
            cwd=self.folder,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **{"stdin": subprocess.DEVNULL, **options},
        )

    def both(self, *arguments, **options):
        """What plain Python does, and what premortem does."""
        return tuple(
            (done.returncode, done.stdout, done.stderr)
            for done in (
                self.run(PLAIN, *arguments, **options),
                self.run([*PREMORTEM, "--quiet"], *arguments, **options),
            )
        )

    def findings(self, name="f.json"):
        return json.loads((self.folder / name).read_text(), parse_constant=pytest.fail)


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def same(place, code, *arguments, name="train.py", **options):
    place.script(name, code)
    plain, watched = place.both(name, *arguments, **options)
    assert watched == plain
    return plain


# --- the program sees what it would see ------------------------------------------------------


def test_argv_path_and_main_are_as_in_plain_python(place):
    code = """
        import __main__, sys
        print(__name__, __file__, __spec__, __package__, __doc__, type(__loader__), __builtins__)
        print(sorted(globals()), sys.argv, sys.path)
        print(__main__.__dict__ is globals(), sys.modules["__main__"] is __main__)
        import inspect
        def f(): pass
        print(inspect.getsource(f), __loader__.get_source("__main__")[:10])
    """
    code_, out, err = same(place, code, "--lr", "0.1", "", "a b", name="./sub/../sub/train.py")
    assert (code_, err) == (0, "")
    assert "['./sub/../sub/train.py', '--lr', '0.1', '', 'a b']" in out


def test_a_linked_script_sees_the_folder_it_really_lies_in(place):
    place.script("real/helper.py", "answer = 42")
    place.script("real/train.py", "import helper, sys; print(helper.answer, sys.path[0], __file__)")
    (place.folder / "link.py").symlink_to("real/train.py")
    plain, watched = place.both("link.py")
    assert watched == plain
    assert plain[1].startswith("42 ")


def test_stdin_is_the_programs(place):
    place.script("train.py", "import sys; print(input(), sys.stdin.read())")
    (place.folder / "stdin").write_text("first\nrest")
    outputs = []
    for command in (PLAIN, [*PREMORTEM, "--quiet"]):
        with (place.folder / "stdin").open() as stdin:
            outputs.append(place.run(command, "train.py", stdin=stdin).stdout)
    assert outputs == ["first rest\n"] * 2


def test_encodings_and_future_flags_are_the_scripts_own(place):
    place.script(
        "train.py", "# -*- coding: latin-1 -*-\ndef f(x: undefined): print('gr\xfc\xdfe')\n".encode("latin-1")
    )
    plain, watched = place.both("train.py")
    assert watched == plain
    assert "NameError" in plain[2]


def test_classes_of_the_script_can_be_pickled(place):
    code = """
        import pickle
        from dataclasses import dataclass
        @dataclass
        class Config:
            lr: float
        data = pickle.dumps(Config(0.1))
        print(pickle.loads(data), b"__main__" in data)
    """
    assert same(place, code)[1] == "Config(lr=0.1) True\n"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_child_processes(place, method):
    code = f"""
        import multiprocessing as mp, os, sys, time
        class Task:
            def __init__(self, n): self.n = n
            def __call__(self): print("loss", self.n, flush=True); return self.n ** 2
        def work(task): return task()
        if __name__ == "__main__":
            context = mp.get_context("{method}")
            with context.Pool(2) as pool:
                print(pool.map(work, [Task(n) for n in range(3)], chunksize=3))
            sleeper = context.Process(target=time.sleep, args=(60,))
            sleeper.start()
            time.sleep(0.3)
            sleeper.terminate()
            sleeper.join()
            print(sleeper.exitcode)
            failing = context.Process(target=sys.exit, args=(5,))
            failing.start(); failing.join(); print(failing.exitcode)
    """
    code_, out, err = same(place, code)
    assert (code_, err) == (0, "")
    assert out.endswith("[0, 1, 4]\n-15\n5\n")


def test_a_fork_of_the_script_is_not_another_run(place):
    place.script(
        "train.py",
        """
        import os, sys
        print("say 1")
        child = os.fork()
        if child:
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print("say 2" if child else "say 3")
        sys.exit(0 if child else 4)
    """,
    )
    done = place.run(WATCHED, "--findings", "f.json", "--folder", "run", "train.py")
    assert (done.returncode, done.stdout) == (0, "say 1\nsay 3\n4\nsay 2\n")
    steps = [finding["step"] for finding in place.findings()["findings"]]
    assert steps == [1, 2, 2]
    with Run(place.folder / "run") as run:
        assert [finding.step for finding in run.findings()] == steps
    assert done.stderr.count("premortem watched") == 1


def test_threads_and_atexit_handlers_still_run(place):
    code = """
        import atexit, threading, time
        from concurrent.futures import ThreadPoolExecutor
        atexit.register(print, "at exit")
        pool = ThreadPoolExecutor(1)  # never shut down: Python does it at exit
        pool.submit(print, "pool").result()
        def work():
            time.sleep(0.3)
            print("thread")
        threading.Thread(target=work).start()
        print("end")
        raise KeyError("x")
    """
    assert same(place, code)[1] == "pool\nend\nthread\nat exit\n"


def test_a_thread_that_outlives_the_script_is_still_heard(place):
    place.script(
        "train.py",
        """
        import threading, time
        def work():
            time.sleep(0.3)
            print("say 7")
        threading.Thread(target=work).start()
        print("end")
    """,
    )
    place.run(WATCHED, "--findings", "f.json", "--folder", "run", "train.py")
    record = place.findings()
    assert [finding["step"] for finding in record["findings"]] == [7, 7]
    assert record["run"]["reason"] == "finished"
    with Run(place.folder / "run") as run:
        assert (len(run.findings()), run.meta["reason"]) == (2, "finished")


# --- how it ends -----------------------------------------------------------------------------


@pytest.mark.parametrize("argument", ["", "0", "7", "None", "'text'", "True", "-1", "256", "3.5", "(1, 2)"])
def test_exit_codes_are_the_scripts_own(place, argument):
    same(place, f"import sys; print('x'); sys.exit({argument})")


ENDINGS = {
    "exception": "def f(x):\n    return 1 / x\n\nprint('before')\nf(0)",
    "chained": """
        def f():
            try:
                {}["a"]
            except KeyError as error:
                try:
                    raise ValueError("b") from error
                finally:
                    int("c")
        f()""",
    "imported": "import json\njson.loads('{')",
    "unprintable": """
        class Bad(Exception):
            def __str__(self): raise RuntimeError
        raise Bad()""",
    "syntax error": "x = 1\nif x\n    y",
    "indentation": "def f():\nreturn 1",
    "own hook": "import sys\nsys.excepthook = lambda kind, error, trace: print('hook', error, trace.tb_lineno)\n1 / 0",
    "failing hook": "import sys\ndef hook(*args): raise ValueError('hook')\nsys.excepthook = hook\n1 / 0",
    "keyboard interrupt": "print('x')\nraise KeyboardInterrupt",
    "warning": "import warnings\ndef f(): warnings.warn('careful')\nf()",
    "through print": """
        import sys
        class Stream:
            def write(self, text): raise OSError("no")
            def flush(self): pass
        sys.stdout = Stream()
        print("x")""",
    "closed stdout": "import sys\nsys.stdout.close()\nprint('x')",
    "abort": "import os\nos.abort()",
    "os._exit": "import os\nos._exit(9)",
}


@pytest.mark.parametrize("name", ENDINGS)
def test_every_ending_looks_like_plain_pythons(place, name):
    same(place, ENDINGS[name])


@pytest.mark.parametrize("source", [b"x = 1\x00", bytes(range(256)), b"PK\x03\x04\x00", b"x = '\xff'"])
def test_a_file_that_is_not_python(place, source):
    """Python's own words for these depend on whether it reads a file or a string; the rest is the same."""
    place.script("train.py", source)
    done = place.run([*PREMORTEM, "--quiet"], "train.py")
    first, *_, last = done.stderr.splitlines()
    assert done.returncode == 1
    assert first == f'  File "{place.folder}/train.py", line 1'
    assert last.startswith("SyntaxError: ")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="needs exception groups")
def test_a_group_of_exceptions(place):
    same(place, "try:\n    1 / 0\nexcept Exception as e:\n    raise ExceptionGroup('g', [e, ValueError(1)])")


def test_the_write_that_fails_shows_no_frame_of_premortem(place):
    """stdout is listened to, so a failing print passes through premortem's code."""
    place.script("train.py", "import os\nos.close(1)\nimport sys\nsys.stdout.write('x' * 100_000)")
    plain, watched = place.both("train.py")
    assert watched == plain
    assert "Bad file descriptor" in plain[2]


def test_a_script_that_dies_before_torch_is_imported(place):
    place.script("train.py", "import nonsense_that_is_not_there\nimport torch")
    done = place.run(PREMORTEM, "--findings", "f.json", "train.py")
    assert done.returncode == 1
    assert "ModuleNotFoundError: No module named 'nonsense_that_is_not_there'" in done.stderr
    assert "premortem saw no training step" in done.stderr
    run = place.findings()["run"]
    assert (run["reason"], run["exit_code"], run["torch"], run["steps"]) == ("crashed", 1, None, 0)


# --- modules ---------------------------------------------------------------------------------

INSPECT = "import sys; print(__name__, __file__, __spec__.name, __package__, sys.argv, sys.path[0], __spec__.cached)"


@pytest.mark.parametrize("name", ["solo", "package", "package.module", "package.inner.deep"])
def test_modules_run_as_with_python_dash_m(place, name):
    place.script("solo.py", INSPECT)
    place.script("package/__init__.py", "print('package', __name__)")
    place.script("package/__main__.py", INSPECT)
    place.script("package/module.py", f"from . import inner\n{INSPECT}")
    place.script("package/inner/__init__.py", "")
    place.script("package/inner/deep.py", INSPECT)
    plain, watched = place.both("-m", name, "--lr", "0.1")
    assert watched == plain
    assert plain[0] == 0


def test_children_of_a_module(place):
    place.script("package/__init__.py", "")
    place.script(
        "package/train.py",
        """
        import multiprocessing as mp
        def work(n): return n + 1
        if __name__ == "__main__":
            with mp.get_context("spawn").Pool(1) as pool:
                print(pool.map(work, [1, 2]))
    """,
    )
    plain, watched = place.both("-m", "package.train")
    assert watched == plain == (0, "[2, 3]\n", "")


def test_a_module_that_fails_shows_the_frames_of_plain_python(place):
    place.script("package/__init__.py", "")
    place.script("package/train.py", "def f(): 1 / 0\nf()")
    plain, watched = place.both("-m", "package.train")
    assert watched == plain
    assert plain[2].splitlines()[-1] == "ZeroDivisionError: division by zero"


def test_a_package_that_fails_on_import_is_the_users_error(place):
    place.script("package/__init__.py", "import nonsense_that_is_not_there")
    place.script("package/train.py", "")
    plain, watched = place.both("-m", "package.train")
    assert watched == plain
    assert plain[0] == 1


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere/x.py"], "there is no script `nowhere/x.py`"),
        (["trian.py"], "there is no script `trian.py`; did you mean `train.py`?"),
        (["."], "`.` is a directory; name the script in it that you want to run"),
        (["train.py/x.py"], "the script `train.py/x.py` cannot be read (Not a directory)"),
        (["-m", "nowhere"], "there is no module `nowhere` on the path"),
        (["-m", "nowhere.train"], "there is no module `nowhere.train` on the path"),
        (["-m", "package.nowhere"], "there is no module `package.nowhere` on the path"),
        (["-m", "package"], "`package` is a package without `__main__`, so it cannot be run"),
        (["-m", "train.py"], "there is no module `train.py`; did you mean `premortem run train.py`?"),
        (["-m", ".train"], "there is no module `.train` on the path"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(place, arguments, sentence):
    place.script("package/__init__.py", "")
    done = place.run([*PREMORTEM, "--quiet"], *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"premortem: {sentence}\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_script(place):
    (place.folder / "train.py").chmod(0)
    done = place.run(PREMORTEM, "train.py")
    assert (done.returncode, done.stderr) == (
        2,
        "premortem: the script `train.py` cannot be read (Permission denied)\n",
    )


def test_a_findings_file_that_cannot_be_written_is_said_before_the_run(place):
    place.script("train.py", "import sys; sys.stderr.write('training\\n')")
    done = place.run(PREMORTEM, "--findings", "train.py/f.json", "train.py")
    first, second, *_ = done.stderr.splitlines()
    path = place.folder / "train.py" / "f.json"
    assert first == f"premortem: the findings cannot be written to {path} (Not a directory); the run goes on"
    assert (second, done.returncode) == ("training", 0)
    assert done.stderr.count("cannot be written") == 1


def test_a_run_folder_that_cannot_be_made_is_said_before_the_run(place):
    place.script("train.py", "import sys; sys.stderr.write('training\\n'); print('say 1')")
    done = place.run(WATCHED, "--folder", "train.py/run", "--findings", "f.json", "train.py")
    first, second, *_ = done.stderr.splitlines()
    assert first == (
        "premortem: the run folder train.py/run cannot be made (Not a directory); "
        "the run goes on without a journal"
    )
    assert (second, done.returncode) == ("training", 0)
    record = place.findings()
    assert (len(record["findings"]), record["run"]["folder"]) == (2, None)


def test_a_current_folder_that_was_deleted_does_not_keep_a_script_from_running(place):
    place.script("train.py", "print('trained')")
    gone = place.folder / "gone"
    script = place.folder / "train.py"
    for options, said in (
        (["--findings", "f.json"], "cannot be written"),
        (["--folder", "run"], "cannot be made"),
    ):
        gone.mkdir()
        shell = f'rmdir "$PWD" && exec "$@" {script}'
        done = place.run(["sh", "-c", f"cd {gone} && {shell}", "sh", *PREMORTEM, *options])
        assert (done.returncode, done.stdout) == (0, "trained\n")
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_a_script_that_closes_every_descriptor_ends_as_it_should(place):
    place.script(
        "train.py", "import os; os.closerange(3, 256); print('trained', flush=True); raise SystemExit(4)"
    )
    plain, watched = place.both("train.py")
    assert watched[:2] == plain[:2] == (4, "trained\n")
    # The journal may notice before the end, and then that is said, once and nothing else.
    said = watched[2].removesuffix("the run goes on without it\n")
    assert watched[2] == plain[2] == "" or (said != watched[2] and "\n" not in said)


def test_two_runs_in_one_folder(place):
    place.script("train.py", "import time; print('say 1'); time.sleep(0.5)")
    command = [*WATCHED, "--folder", "run", "train.py"]
    runs = [
        subprocess.Popen(
            command, cwd=place.folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(3)
    ]
    assert [run.wait(60) for run in runs] == [0, 0, 0]
    for folder in ("run", "run/run-2", "run/run-3"):
        with Run(place.folder / folder) as run:
            assert len(run.findings()) == 2


# --- what premortem says ---------------------------------------------------------------------


def test_the_findings_file(place):
    place.script(
        "train.py",
        """
        print("say 3")
        def fail():
            raise ValueError("boom")
        fail()
    """,
    )
    done = place.run(WATCHED, "--findings", "deep/f.json", "--policy", "observe", "train.py", "--lr", "1")
    assert done.returncode == 1
    record = place.findings("deep/f.json")
    assert record["premortem"] == premortem.__version__
    run = record["run"]
    assert list(run) == [
        "argv", "started", "ended", "seconds", "steps", "exit_code", "reason", "torch", "python", "folder", "policy", "silenced", "watched",
    ]  # fmt: skip
    assert run["argv"] == ["train.py", "--lr", "1"]
    assert (run["steps"], run["exit_code"], run["reason"], run["policy"]) == (3, 1, "crashed", "observe")
    assert run["watched"] == {"steps": 3, "reason": None, "missed": [], "children": []}
    assert run["started"] < run["ended"]
    said, crashed = record["findings"]
    assert said["evidence"] == {"number": "nan", "thing": "<class 'object'>"}
    assert crashed["message"] == "crashed ValueError boom train.py:4"
    with Run(Path(run["folder"])) as journal:
        assert [finding.to_json() for finding in journal.findings()] == record["findings"]
        assert (journal.meta["reason"], journal.meta["error"]) == ("crashed", "ValueError")
    assert [path.name for path in (place.folder / "deep").iterdir()] == ["f.json"]


def test_the_findings_file_is_there_and_whole_while_the_run_goes_on(place):
    place.script(
        "train.py",
        """
        import json
        for step in range(1, 50):
            print("say", step)
            record = json.load(open("f.json"))
            assert len(record["findings"]) == step, record
            assert (record["run"]["reason"], record["run"]["exit_code"]) == ("running", None)
    """,
    )
    assert place.run(WATCHED, "--quiet", "--findings", "f.json", "train.py").stderr == ""


def test_the_findings_go_where_they_should_when_the_script_changes_its_folder(place):
    place.script("train.py", "import os; os.mkdir('x'); os.chdir('x'); print('say 1'); 1 / 0")
    done = place.run(WATCHED, "--quiet", "--findings", "f.json", "--folder", "run", "train.py")
    assert f'File "{place.folder}/train.py", line 1' in done.stderr
    assert len(place.findings()["findings"]) == 2
    assert (place.folder / "run" / "journal.sqlite").exists()


def test_a_findings_file_that_is_a_device_is_not_replaced(place):
    (place.folder / "link.json").symlink_to("/dev/null")
    done = place.run(PREMORTEM, "--findings", "link.json", "train.py")
    assert done.returncode == 0
    assert (place.folder / "link.json").is_char_device()


def test_a_full_disk_for_findings_is_one_sentence(place):
    place.script("train.py", "print('say 1')")
    done = place.run(WATCHED, "--findings", "/dev/full", "train.py")
    assert done.returncode == 0
    assert done.stderr.count("No space left on device") == 1


def test_premortem_stops_the_run(place):
    place.script(
        "train.py",
        """
        try:
            print("stop 1")
        except Exception:
            print("swallowed")
        finally:
            print("cleaned up")
    """,
    )
    done = place.run(WATCHED, "--findings", "f.json", "train.py")
    assert (done.returncode, done.stdout) == (3, "stop 1\ncleaned up\n")
    assert "Traceback" not in done.stderr
    run = place.findings()["run"]
    assert (run["reason"], run["exit_code"]) == ("stopped", 3)


def test_a_bug_of_premortem_is_written_down_and_the_run_never_notices(place):
    place.script("train.py", "print('bug 1'); print('say 2')")
    done = place.run(WATCHED, "--quiet", "--folder", "run", "train.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "bug 1\nsay 2\n", "")
    with Run(place.folder / "run") as run:
        (fault,) = run.faults()
        assert fault.unit == "log"
        assert fault.error.endswith("RuntimeError: a bug of premortem\n")
        assert len(run.findings()) == 2


def test_a_watcher_that_cannot_be_made_costs_only_the_watching(place):
    broken = "import sys; sys.modules['premortem.run.watcher'] = None\nfrom premortem.cli import main\nsys.exit(main(['run', *sys.argv[1:]]))"
    place.script("train.py", "print('trained'); exit(4)")
    done = place.run([sys.executable, "-c", broken], "--folder", "run", "--findings", "f.json", "train.py")
    assert (done.returncode, done.stdout) == (4, "trained\n")
    assert "goes on unwatched" in done.stderr
    assert place.findings()["run"]["exit_code"] == 4
    with Run(place.folder / "run") as run:
        assert [fault.unit for fault in run.faults()] == ["watcher"]


# --- signals ---------------------------------------------------------------------------------


def killed(place, command, *signals, code=None, after=0.0):
    """Starts train.py, waits until it says it is ready, sends signals; returns what is left of it."""
    if code is not None:
        place.script("train.py", code)
    process = subprocess.Popen(
        command, cwd=place.folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    ready = process.stdout.readline()
    for number in signals:
        time.sleep(after)
        process.send_signal(number)
    try:
        output, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    return process.returncode, ready + output, errors


SLEEPER = """
    import atexit, time
    atexit.register(print, "at exit")
    print("say 1", flush=True)
    try:
        time.sleep(60)
    finally:
        print("cleaned up")
"""


def test_ctrl_c_is_what_it_is_in_plain_python(place):
    plain = killed(place, [*PLAIN, "train.py"], signal.SIGINT, code=SLEEPER, after=0.2)
    watched = killed(
        place, [*WATCHED, "--quiet", "--findings", "f.json", "train.py"], signal.SIGINT, after=0.2
    )
    assert watched == plain
    assert plain[0] == -signal.SIGINT
    assert plain[2].rstrip().endswith("KeyboardInterrupt")
    run = place.findings()["run"]
    assert (run["reason"], run["exit_code"]) == ("interrupted", 130)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminated_run_has_its_last_words_and_the_same_end(place, number):
    plain = killed(place, [*PLAIN, "train.py"], number, code=SLEEPER, after=0.2)
    command = [*WATCHED, "--quiet", "--findings", "f.json", "--folder", "run", "train.py"]
    assert killed(place, command, number, after=0.2) == plain == (-number, "say 1\n", "")
    record = place.findings()
    assert (record["run"]["reason"], record["run"]["exit_code"]) == ("interrupted", 128 + number)
    assert [finding["message"].split()[0] for finding in record["findings"]] == ["said", "interrupted"]
    with Run(place.folder / "run") as run:
        assert (len(run.findings()), run.meta["reason"]) == (2, "interrupted")


def test_the_scripts_own_handler_comes_first(place):
    """It also calls the handler before it, as polite handlers do: without premortem there is none."""
    code = """
        import signal, sys, time
        def save(number, frame):
            if callable(before):
                before(number, frame)
            print("saved")
            sys.exit(12)
        before = signal.signal(signal.SIGTERM, save)
        print("say 1", flush=True)
        time.sleep(60)
    """
    plain = killed(place, [*PLAIN, "train.py"], signal.SIGTERM, code=code)
    watched = killed(place, [*WATCHED, "--quiet", "--findings", "f.json", "train.py"], signal.SIGTERM)
    assert watched == plain == (12, "say 1\nsaved\n", "")
    assert place.findings()["run"]["reason"] == "exited"


def test_a_hang_in_a_library_can_still_be_terminated(place):
    """The main thread sits in C, where no Python handler runs; without premortem it would just die."""
    code = """
        import hashlib
        print("say 1", flush=True)
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)
    """
    started = time.monotonic()
    command = [*WATCHED, "--quiet", "--findings", "f.json", "train.py"]
    assert killed(place, command, signal.SIGTERM, code=code, after=0.3)[0] == -signal.SIGTERM
    assert time.monotonic() - started < 20
    assert place.findings()["run"]["reason"] == "interrupted"


def test_signals_that_nohup_ignores_stay_ignored(place):
    place.script("train.py", "import signal; print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)")
    done = place.run(["nohup", *PREMORTEM, "--quiet"], "train.py")
    assert done.stdout == "True\n"


def test_a_finding_that_was_shown_survives_kill_9(place):
    code = """
        import itertools
        for step in itertools.count(1):
            print("say", step)
    """
    place.script("train.py", code)
    process = subprocess.Popen(
        [*WATCHED, "--findings", "f.json", "--folder", "run", "train.py"],
        cwd=place.folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    first = "".join(
        process.stderr.readline() for _ in range(20)
    )  # on a busy machine the first one takes its time
    process.kill()
    shown = first + process.communicate(timeout=60)[1]
    steps = [int(line.split(" at step ")[1].split()[0]) for line in shown.splitlines() if " at step " in line]
    assert steps
    with Run(place.folder / "run") as run:
        assert {finding.step for finding in run.findings()} >= set(steps)
    record = place.findings()
    assert {finding["step"] for finding in record["findings"]} >= set(steps)
    assert record["run"]["reason"] == "running"


# --- torch -----------------------------------------------------------------------------------


def test_a_script_without_torch_does_not_pay_for_it(place):
    code = "import sys; print('torch' in sys.modules, 'numpy' in sys.modules)"
    assert same(place, code)[1] == "False False\n"


def test_a_traceback_through_torch_shows_no_frame_of_premortem(place):
    pytest.importorskip("torch")
    code = """
        import torch
        model = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            model(torch.ones(3, 4)).mean().backward()
            optimizer.step()
        model(torch.ones(3, 4)).backward()
    """
    assert "grad can be implicitly created only for scalar outputs" in same(place, code)[2]


@pytest.mark.slow
def test_a_training_script_with_loader_workers(place):
    pytest.importorskip("torch")
    place.script(
        "train.py",
        """
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Points(Dataset):
            def __len__(self):
                return 32
            def __getitem__(self, index):
                generator = torch.Generator().manual_seed(index)
                x = torch.randn(4, generator=generator)
                return x, x.sum().reshape(1)

        torch.manual_seed(0)
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loader = DataLoader(Points(), batch_size=8, shuffle=True, num_workers=2)
        for epoch in range(3):
            for x, y in loader:
                optimizer.zero_grad()
                loss = torch.nn.functional.mse_loss(model(x), y)
                loss.backward()
                optimizer.step()
            print(f"epoch {epoch} loss {loss.item():.9f}")
        print(model.weight.tolist(), torch.rand(1).item())
    """,
    )
    plain = place.run(PLAIN, "train.py")
    watched = place.run([*PREMORTEM, "--quiet"], "--findings", "f.json", "--folder", "run", "train.py")
    assert (watched.returncode, watched.stdout, watched.stderr) == (0, plain.stdout, plain.stderr)
    record = place.findings()
    assert (record["run"]["steps"], record["findings"]) == (12, [])
    with Run(place.folder / "run") as run:
        assert [step.step for step in run.steps()] == list(range(1, 13))
        assert run.faults() == []
