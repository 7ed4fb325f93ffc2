"""The facts of the environment, from real files and real processes."""

import os
import struct
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from premortem.preflight import environment, options, reading
from premortem.preflight.environment import caching, copies, devices, machine, outputs
from premortem.preflight.environment.machine_facts import Gpu
from premortem.preflight.project import Project
from premortem.preflight.values import ANY, Values


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Files by their names; the first is the script."""
    monkeypatch.chdir(tmp_path)
    for name in ("LOCAL_RANK", "WORLD_SIZE", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)

    def made(argv=(), **files):
        names = [name.replace("__", "/") + ".py" for name in files]
        for name, text in zip(names, files.values(), strict=True):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        return Project(folder=tmp_path, target=names[0], argv=list(argv))

    return made


def values_of(project):
    read = reading.read(project)
    known = options.read(read.sources, project.argv)
    return read, known, Values(known)


# --- reading ---------------------------------------------------------------------------------


def test_what_the_script_imports_from_the_project_is_read_and_nothing_runs(project):
    asked = project(
        train="import kit.model\nfrom kit import data\nimport json\n",
        kit__init__="",
        kit__model="from . import layers\nraise SystemExit('this was run')\n",
        kit__layers="",
        kit__data="",
        kit__unused="",
    )
    (asked.folder / "kit" / "init__.py").unlink(missing_ok=True)
    (asked.folder / "kit" / "__init__.py").write_text("")
    read = reading.read(asked)
    names = {os.path.relpath(source.path, asked.folder) for source in read.sources}
    assert names == {"train.py", "kit/__init__.py", "kit/model.py", "kit/layers.py", "kit/data.py"}
    assert read.imports["kit"] == (str(asked.folder / "train.py"), 1)


def test_a_file_that_is_no_python_is_a_problem_and_no_end(project):
    asked = project(train="import helper\n", helper="def broken(:\n")
    read = reading.read(asked)
    assert [Path(path).name for path, _why in read.problems] == ["helper.py"]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('p = "out/last.pt"', "out/last.pt"),
        ('p = f"out/epoch_{n}.pt"', "out/epoch_*.pt"),
        ('p = os.path.join(OUT, "last.pt")', "runs/last.pt"),
        ('p = Path(OUT) / "a" / "b.pt"', "runs/a/b.pt"),
        ('p = args.out + "/b.pt"', "given/b.pt"),
        ('p = os.environ["PLACE"] + "/b.pt"', "there/b.pt"),
        ('p = os.environ.get("NO_SUCH_PLACE", "here") + "/b.pt"', "here/b.pt"),
        ("p = unknown()", ANY),
    ],
)
def test_what_an_expression_amounts_to(line, text, project, monkeypatch):
    monkeypatch.setenv("PLACE", "there")
    head = """\
    import argparse, os
    from pathlib import Path
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="default")
    args = parser.parse_args()
    OUT = "runs"
    """
    asked = project(train=textwrap.dedent(head) + line + "\n", argv=["--out", "given"])
    read, _known, values = values_of(asked)
    source = read.sources[0]
    statement = source.assignments["p"][0]
    assert values.text(source, statement.value) == text


# --- devices ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ('import torch\nmodel.to("cuda")\n', 1),
        ('import torch\nd = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")\n', 1),
        ("import torch\nmodel.cuda()\n", 1),
        ('import torch\nmodel = torch.nn.DataParallel(model).to("cuda")\n', 0),
        ('import torch\nfor r in range(2):\n    model.to(f"cuda:{r}")\n', 0),
        ('import torch\na.to("cuda:0"); b.to("cuda:1")\n', 0),
        ('import accelerate\nmodel.to("cuda")\n', 0),
        ('import os, torch\nrank = int(os.environ["LOCAL_RANK"])\nmodel.to("cuda")\n', 0),
        ("import torch\nmodel.to(device)\n", 0),
        ('import lightning as L\nL.Trainer(accelerator="gpu", devices=1)\n', 1),
        ('import lightning as L\nL.Trainer(accelerator="gpu", devices=2)\n', 0),
    ],
)
def test_how_many_devices_a_script_uses(code, count, project):
    assert devices.use(reading.read(project(train=code))).devices == count


def test_a_launcher_gives_every_process_its_own(project):
    read = reading.read(project(train='model.to("cuda")\n'))
    assert devices.use(read, {"LOCAL_RANK": "0"}).devices == 0


def test_visible_devices_and_who_has_booked_them():
    two = [Gpu(name="a"), Gpu(name="b")]
    assert machine.visible(two, {}) == two
    assert machine.visible(two, {"CUDA_VISIBLE_DEVICES": "1"}) == two[1:]
    assert machine.visible(two, {"CUDA_VISIBLE_DEVICES": ""}) == []
    assert machine.visible(two, {"CUDA_VISIBLE_DEVICES": "0,-1,1"}) == two[:1]
    assert machine.booking(two, {}).said_by == ""
    assert machine.booking(two, {"SLURM_GPUS_ON_NODE": "2"}).said_by == "SLURM"
    assert machine.booking(two, {"KAGGLE_KERNEL_RUN_TYPE": "Batch"}).said_by == "Kaggle"
    assert machine.booking([], {"SLURM_GPUS_ON_NODE": "2"}).devices == 2
    assert machine.booking([], {"SLURM_GPUS_ON_NODE": "2", "CUDA_VISIBLE_DEVICES": ""}) is None
    assert machine.booking([], {"KAGGLE_KERNEL_RUN_TYPE": "Batch"}) is None


def test_gpus_from_the_tool_of_the_driver(tmp_path, monkeypatch):
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!{sys.executable}\nprint('Tesla T4, 7.5, 15360, 535.104.05')\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    gpus, driver = machine.gpus()
    assert (gpus, driver) == ([Gpu(name="Tesla T4", capability=(7, 5), memory=15360 << 20)], "535.104.05")


def test_gpus_from_the_files_of_the_driver(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(machine, "PROC", tmp_path)
    assert machine.gpus() == ([], None)
    (tmp_path / "version").write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\nGCC version: 13.3.0\n"
    )
    card = tmp_path / "gpus" / "0000:01:00.0"
    card.mkdir(parents=True)
    (card / "information").write_text("Model: \t\t NVIDIA L4\nIRQ:   \t\t 99\n")
    assert machine.gpus() == ([Gpu(name="NVIDIA L4")], "580.65.06")


def test_torch_is_read_from_its_files(tmp_path):
    import torch

    here = machine.torch_at(str(Path(torch.__file__).parent))
    assert (here.version, here.cuda) == (torch.__version__, torch.version.cuda)
    assert machine.torch_at(str(tmp_path)) is None


def test_torch_itself_is_asked_in_a_process_of_its_own(tmp_path):
    import torch

    told, capabilities = machine.asked(machine.torch_at(str(Path(torch.__file__).parent)), tmp_path)
    assert told.problem == ""
    assert told.sees_gpu is torch.cuda.is_available()
    assert len(capabilities) == torch.cuda.device_count()


def test_asking_where_modules_are_runs_nothing_of_the_project(tmp_path):
    import torch

    for name in ("json", "warnings", "importlib"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w')")
    found = reading.ask(tmp_path, tmp_path, ["json", "torch"])
    assert found["json"].origin == str(tmp_path / "json.py"), "it is where the script would find it"
    assert machine.asked(machine.torch_at(str(Path(torch.__file__).parent)), tmp_path)[0].problem == ""
    assert not (tmp_path / "ran").exists()


# --- folders ---------------------------------------------------------------------------------

LOOP = """\
import torch
EPOCHS = 20
for epoch in range(EPOCHS):
    {body}
"""


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ('torch.save(m, f"ckpt/e{epoch}.pt")', 18),
        ('if epoch % 5 == 0:\n        torch.save(m, f"ckpt/e{epoch}.pt")', 2),
        ('if loss < best:\n        torch.save(m, f"ckpt/e{epoch}.pt")', None),
        ('torch.save(m, "ckpt/e0.pt")', 0),
    ],
)
def test_how_many_checkpoints_there_will_be(body, count, project):
    asked = project(train=LOOP.format(body=body))
    (asked.folder / "ckpt").mkdir()
    for name in ("e0.pt", "e1.pt"):
        (asked.folder / "ckpt" / name).write_bytes(b"x" * 1000)
    read, _known, values = values_of(asked)
    found = outputs.savings(read, values)
    assert [(one.size, one.count) for one in found] == ([] if count is None else [(1000, count)])


def test_where_checkpoints_go_is_judged(project, monkeypatch):
    code = 'import os, torch\ntorch.save(m, os.path.join(os.environ["SLURM_TMPDIR"], "last.pt"))\n'
    asked = project(train=code)
    monkeypatch.setenv("SLURM_TMPDIR", str(asked.folder / "scratch"))
    part = environment.survey(asked, lambda _sentence: None)
    (finding,) = part.findings
    assert (finding.code, finding.severity.value, finding.where.line) == ("PM608", "warning", 2)
    # What is copied away may be made anywhere.
    (asked.folder / "train.py").write_text(code + "import shutil\nshutil.copy('a', 'b')\n")
    assert environment.survey(replace(asked), lambda _sentence: None).findings == []


KEEPS = """\
import torch
from torch.utils.data import DataLoader, Dataset

class Images(Dataset):
    def __init__(self):
        self.cache = {made}
    def __getitem__(self, i):
        if i not in self.cache:
            self.cache[i] = torch.load(i)
        {more}
        return self.cache[i]

loader = DataLoader(Images(), num_workers={workers})
folder = "images"
"""


@pytest.mark.parametrize(
    ("made", "more", "workers", "found"),
    [
        ("{}", "pass", 4, [(4, 3000)]),
        ("dict()", "pass", 4, [(4, 3000)]),
        ("{}", "pass", 0, []),
        ("{}", "self.cache.popitem()", 4, []),
        ("SharedCache()", "pass", 4, []),
    ],
)
def test_a_dataset_that_keeps_everything(made, more, workers, found, project):
    asked = project(train=KEEPS.format(made=made, more=more, workers=workers))
    (asked.folder / "images").mkdir()
    for number in range(3):
        (asked.folder / "images" / f"{number}.npy").write_bytes(b"x" * 1000)
    read, known, values = values_of(asked)
    seen = caching.caching(read, known, values, [], 1 << 30)
    assert [(one.workers, one.size) for one in seen] == found


def test_the_size_of_an_image_comes_from_its_head(tmp_path):
    png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 640, 480, 8, 2, 0, 0, 0)
    jpeg = b"\xff\xd8\xff\xe0" + struct.pack(">H", 16) + b"\0" * 14
    jpeg += b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, 480, 640, 3) + b"\0" * 20
    for name, data, size in (
        ("a.png", png, 640 * 480 * 3),
        ("b.jpg", jpeg, 640 * 480 * 3),
        ("c.png", b"", 0),
    ):
        (tmp_path / name).write_bytes(data)
        assert caching.image_bytes(tmp_path / name) == size
    assert caching.decoded(tmp_path) > 0


# --- copies ----------------------------------------------------------------------------------

PACKAGE = "def loss(a, b):\n    return (a - b).abs().mean()\n\n\ndef scale():\n    return {}\n"


def installed(tmp_path, monkeypatch, text):
    site = tmp_path / "elsewhere"
    (site / "kit").mkdir(parents=True)
    (site / "kit" / "__init__.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(site))


def test_an_installed_copy_that_hides_the_one_here(project, tmp_path_factory, monkeypatch):
    installed(tmp_path_factory.mktemp("site"), monkeypatch, PACKAGE.format(1))
    asked = project(scripts__train="import kit\n", src__kit____init__="")
    package = asked.folder / "src" / "kit"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(PACKAGE.format(2))
    (copy,) = copies.copies(reading.read(asked))
    assert (copy.name, copy.outside, copy.same) == ("kit", True, False)
    assert copy.other == package
    # The same name for something else is no copy; a script that changes its path is not judged.
    (package / "__init__.py").write_text("class Unrelated:\n    pass\n\n\nNOTHING = 1\n")
    assert copies.copies(reading.read(asked)) == []
    (package / "__init__.py").write_text(PACKAGE.format(2))
    (asked.folder / "scripts" / "train.py").write_text("import sys\nsys.path.insert(0, 'src')\nimport kit\n")
    assert copies.copies(reading.read(asked)) == []


def test_libraries_are_no_copies(project):
    asked = project(train="import torch, yaml, rich\n")
    assert copies.copies(reading.read(asked)) == []


def git(folder, url):
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {url}\n')


@pytest.mark.parametrize(
    ("url", "count"),
    [("https://example.com/a.git", 1), ("https://example.com/a", 1), ("https://example.com/b", 0)],
)
def test_a_clone_inside_itself(url, count, project):
    asked = project(train="import torch\n")
    git(asked.folder, "https://example.com/a.git")
    git(asked.folder / "vendor" / "a", url)
    assert len(copies.clones(reading.read(asked))) == count


def test_the_repository_is_that_of_the_script_not_of_the_working_folder(project):
    asked = project(train="import torch\n")
    read = reading.read(asked)
    repository = asked.folder / "below"
    git(repository, "https://example.com/a.git")
    git(repository / "a", "https://example.com/a.git")
    assert copies.clones(read) == []
    assert len(copies.clones(replace(read, start=repository))) == 1
