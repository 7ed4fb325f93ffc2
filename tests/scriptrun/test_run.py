"""A script in a process of its own: what it reads, what it leaves, what is told of it."""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from premortem.scriptrun.environment import TRACKERS_OFF
from premortem.scriptrun.run import Plan, Script, ScriptRun

ROOT = str(Path(__file__).parents[2])
CHANGE = "Path('../data/x.csv').write_text('new')\nassert Path('../data/x.csv').read_text() == 'new'\n"
SIMPLY = "tests.scriptrun.plans:simply"


@pytest.fixture(params=["", "2", "3", "4"], ids=["first", "user", "copy", "table"])
def level(request, monkeypatch):
    monkeypatch.setenv("PREMORTEM_SANDBOX", request.param)
    return request.param


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ROOT)
    project = tmp_path / "project"
    project.mkdir()

    def run(text, plan=SIMPLY, seconds=60.0, warm="", launches=1, **options):
        (project / "train.py").write_text(text)
        one = ScriptRun(Script(target="train.py", cwd=project), Plan(play=plan, warm=warm), **options)
        one = stack.enter_context(one)
        return [one.go({}, seconds) for _ in range(launches)][-1]

    run.project = project
    with ExitStack() as stack:
        yield run


def test_it_reads_what_is_around_it_and_writes_nothing_that_stays(run, level, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.csv").write_text("1,2")
    ran = run(
        "import os, shutil, sqlite3\nfrom pathlib import Path\n"
        "assert open('../data/x.csv').read() == '1,2'\n"
        "Path('LOCK').touch()\nos.makedirs('runs')\nshutil.copy('train.py', 'runs')\n"
        "os.close(os.open('raw', os.O_CREAT | os.O_WRONLY))\nsqlite3.connect('log.db').execute('create table t(a)')\n"
        + ("" if level == "3" else CHANGE)
        + "print(sorted(os.listdir('.')))\n"
    )
    assert ran.last("message") == "", ran.printed
    assert "['LOCK', 'log.db', 'raw', 'runs', 'train.py']" in ran.printed
    assert [path.name for path in run.project.iterdir()] == ["train.py"]
    assert (tmp_path / "data" / "x.csv").read_text() == "1,2"
    written = {
        os.path.relpath(each.path, tmp_path) for each in ran.layers.written() if each.kind == "written"
    }
    assert {"project/LOCK", "project/runs/train.py", "project/log.db"} <= written
    assert ("data/x.csv" in written) == (level != "3")


def test_each_launch_begins_anew(run, level):
    ran = run("import os\nassert not os.path.exists('made')\nos.mkdir('made')\n", launches=2)
    assert ran.last("ended") == "finished", ran.printed


def test_what_one_launch_wrote_is_there_in_the_next_when_it_was_kept(level, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ROOT)
    (tmp_path / "old.txt").write_text("old")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inner.txt").write_text("inner")
    (tmp_path / "write.py").write_text(
        "import os, shutil\nos.makedirs('ck/deep')\nopen('ck/deep/a.pt', 'w').write('a')\nos.remove('old.txt')\n"
        "os.symlink('deep/a.pt', 'ck/last')\nshutil.rmtree('folder')\nos.mkdir('folder')\n"
        "if os.path.exists('read'): raise SystemExit('not anew')\n"
    )
    (tmp_path / "read.py").write_text(
        "import os\nassert open('ck/last').read() == 'a' and os.readlink('ck/last') == 'deep/a.pt'\n"
        "assert not os.path.exists('old.txt')\nassert os.listdir('folder') == [], os.listdir('folder')\n"
    )
    with ScriptRun(Script(target="write.py", cwd=tmp_path), Plan(play="tests.scriptrun.plans:keep")) as one:
        assert one.go({}, 60.0).last("message") == ""
        one.script, one.plan = (
            Script(target="read.py", cwd=tmp_path),
            Plan(play="tests.scriptrun.plans:put_back"),
        )
        ran = one.go({}, 60.0)
    assert ran.last("message") == "", ran.printed
    assert (tmp_path / "old.txt").read_text() == "old"
    assert not (tmp_path / "ck").exists()


def test_trackers_are_off(run, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://tracking.example.org")
    seen = run("", plan="tests.scriptrun.plans:environment").last("environment")
    assert {name: seen[name] for name in TRACKERS_OFF} == TRACKERS_OFF
    assert seen["MLFLOW_TRACKING_URI"].startswith("file:")


def test_a_script_that_names_its_server_sends_nothing(run):
    """A library of that name stands in for it: it is not installed here."""
    (run.project / "mlflow.py").write_text(
        "def set_tracking_uri(uri):\n    raise RuntimeError('it would connect')\n"
    )
    ran = run("import mlflow\nmlflow.set_tracking_uri('http://tracking.example.org')\n")
    assert ran.last("ended") == "finished", ran.printed


def test_a_model_is_not_pushed(run):
    pytest.importorskip("huggingface_hub")
    ran = run(
        "from huggingface_hub import HfApi, upload_file\n"
        "HfApi().create_repo('someone/model')\n"
        "upload_file(path_or_fileobj='train.py', path_in_repo='train.py', repo_id='someone/model')\n"
        "HfApi().upload_folder(folder_path='.', repo_id='someone/model')\n"
    )
    assert ran.last("ended") == "finished", ran.printed


def test_an_exit_code_and_a_signal_are_told(run):
    assert run("import os\nos._exit(7)\n").code == 7
    assert run("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n").code == -9


def test_a_script_that_takes_too_long_is_ended_and_the_next_launch_works(run, monkeypatch):
    (run.project / "train.py").write_text("import time\nprint('here', flush=True)\ntime.sleep(600)\n")
    with ScriptRun(Script(target="train.py", cwd=run.project), Plan(play=SIMPLY)) as one:
        late = one.go({}, 5.0)
        (run.project / "train.py").write_text("print('again')\n")
        again = one.go({}, 60.0)
    assert late.late
    assert late.printed == "here\n"
    assert "longer than 5 s" in late.problem(5.0)
    assert again.printed == "again\n"


def test_a_bug_of_ours_is_told(run):
    assert run("", plan="tests.scriptrun.plans:fail").last("failed") == "ValueError: a bug of ours"


def test_no_script_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ROOT)
    with ScriptRun(Script(target="none.py", cwd=tmp_path), Plan(play=SIMPLY)) as one:
        assert "there is no script `none.py`" in one.go({}, 60.0).last("problem")


def test_a_process_with_threads_is_not_forked(run):
    """Some builds of torch start threads when they are loaded: then nothing is warm, and all is well."""
    plans = "tests.scriptrun.plans:"
    for warm in ("warm", "warm_with_a_thread"):
        ran = run("", plan=plans + "count_threads", warm=plans + warm)
        assert ran.last("threads") == 1
        assert ran.guarantee.level


def test_which_sandbox_it_was_is_said(run, monkeypatch):
    monkeypatch.setenv("PREMORTEM_SANDBOX", "4")
    ran = run("import subprocess\nsubprocess.run('echo 1 > made', shell=True)\n")
    assert ran.guarantee.level >= 4
    assert ran.guarantee.sentence
    assert ran.guarantee.to_json()["guarantee"]
    assert [path.name for path in run.project.iterdir()] == ["train.py"] or ran.guarantee.level == 5
