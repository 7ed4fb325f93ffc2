"""Which data a script opens, from its source alone."""

import textwrap

import pytest

from premortem.findings import Severity
from premortem.preflight.data.code.opened import opened
from premortem.preflight.project import Project
from tests.preflight.data import make
from tests.preflight.data.folded import survey


def project(folder, source, *argv, **files):
    (folder / "train.py").write_text(textwrap.dedent(source))
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(textwrap.dedent(content))
    return Project(folder=folder, target="train.py", argv=list(argv))


def loud(part):
    return [finding for finding in part.findings if finding.severity is not Severity.INFO]


WAYS = {
    "a literal": ("root = 'data/gopro/train'\n", ()),
    "pathlib": (
        "from pathlib import Path\nDATA = Path('data') / 'gopro'\nfiles = list((DATA / 'train').iterdir())\n",
        (),
    ),
    "os.path.join": ("import os\nroot = 'data/gopro'\nos.listdir(os.path.join(root, 'train', 'blur'))\n", ()),
    "an f-string": (
        "root = './data/gopro'\nfor n in range(3):\n    open(f'{root}/train/blur/{n}.png')\n",
        (),
    ),
    "an option": (
        """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument('--data-dir', default='data/gopro/train')
        args = parser.parse_args()
        """,
        (),
    ),
    "the command line": (
        """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument('--data-dir', required=True)
        args = parser.parse_args()
        """,
        ("--data-dir", "data/gopro/train"),
    ),
    "a positional argument": (
        """
        import argparse, os
        parser = argparse.ArgumentParser()
        parser.add_argument('root')
        parser.add_argument('--epochs', type=int, default=3)
        args = parser.parse_args()
        os.listdir(os.path.join(args.root, 'train'))
        """,
        ("--epochs", "2", "data/gopro"),
    ),
    "a dataset class": (
        """
        import os
        class Frames:
            def __init__(self, root, split='train', size=64):
                self.root = os.path.join(root, split)
                self.names = sorted(os.listdir(os.path.join(self.root, 'blur')))
        Frames('data/gopro', split='train')
        """,
        (),
    ),
    "a dataclass": (
        """
        from dataclasses import dataclass
        import os
        @dataclass
        class Config:
            data_root: str = 'data/gopro'
            split: str = 'train'
        cfg = Config()
        names = os.listdir(os.path.join(cfg.data_root, cfg.split))
        """,
        (),
    ),
    "a dictionary": (
        "import os\ncfg = {'root': 'data/gopro', 'split': 'train'}\nos.listdir(os.path.join(cfg['root'], cfg['split']))\n",
        (),
    ),
}


@pytest.mark.parametrize(("source", "argv"), WAYS.values(), ids=WAYS)
def test_a_folder_that_differs_by_letter_case_is_named(source, argv, tmp_path):
    make.sequences(tmp_path / "data/gopro", splits=("Train",), number=1, frames=3)
    (finding,) = loud(survey(project(tmp_path, source, *argv), lambda _line: None))
    assert (finding.code, finding.severity) == ("PM651", Severity.ERROR)
    assert (
        "`data/gopro/train` does not exist; did you mean `data/gopro/Train`, which holds 9 samples?"
        in finding.message
    )


@pytest.mark.parametrize(("source", "argv"), WAYS.values(), ids=WAYS)
def test_a_folder_that_is_there_is_surveyed(source, argv, tmp_path):
    make.sequences(tmp_path / "data/gopro", splits=("train",), number=1, frames=3)
    part = survey(project(tmp_path, source, *argv), lambda _line: None)
    assert part.findings == []
    assert sum(root["samples"] for root in part.record["roots"]) == 9


def test_the_line_is_named(tmp_path):
    make.sequences(tmp_path / "data", splits=("Train",), number=1, frames=3)
    (finding,) = loud(survey(project(tmp_path, "x = 1\nDATA = 'data/train'\n"), lambda _line: None))
    assert str(finding.where) == "train.py:2"


def test_a_name_in_a_module_beside_the_script_is_found(tmp_path):
    make.sequences(tmp_path / "data", splits=("Train",), number=1, frames=3)
    files = {
        "dataset__py": "import os\nclass Frames:\n    def __init__(self, root):\n        os.listdir(root + '/train')\n"
    }
    source = "from dataset import Frames\nFrames('data')\n"
    (finding,) = loud(survey(project(tmp_path, source, **files), lambda _line: None))
    assert str(finding.where) == "dataset.py:4"


def test_a_name_in_a_config_is_found(tmp_path):
    make.sequences(tmp_path / "data", splits=("Train",), number=1, frames=3)
    source = (
        "import yaml, os\ncfg = yaml.safe_load(open('config.yaml'))\nos.listdir(cfg['data']['train_dir'])\n"
    )
    part = survey(
        project(tmp_path, source, config__yaml="data:\n  train_dir: data/train\n"), lambda _line: None
    )
    (finding,) = loud(part)
    assert (finding.code, str(finding.where)) == ("PM651", "config.yaml:2")


SILENT = {
    "both spellings are tried": "import os\nfor name in ('train', 'Train'):\n    root = os.path.join('data', name)\n",
    "the script makes it": "import os\ndata_dir = 'data/train'\nos.makedirs(data_dir, exist_ok=True)\n",
    "the script fetches it": "from torchvision.datasets import MNIST\nMNIST('data/train', download=True)\n",
    "it is only a word": "mode = 'train'\nprint('train')\nmodel.train()\n",
    "it is an output": "save_dir = 'data/train_out'\n",
    "another name altogether": "data = 'data/archive'\n",
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_what_is_no_slip_is_not_called_one(source, tmp_path):
    make.sequences(tmp_path / "data", splits=("Train",), number=1, frames=3)
    assert loud(survey(project(tmp_path, source), lambda _line: None)) == []


def test_neighbours_with_another_number_are_no_slip(tmp_path):
    for fold in (1, 2):
        make.image_folder(tmp_path / "data" / f"fold{fold}", splits=("train",), count=3)
    assert loud(survey(project(tmp_path, "data_root = 'data/fold3'\n"), lambda _line: None)) == []


def test_a_pattern_in_another_letter_case_is_named(tmp_path):
    make.image_folder(tmp_path / "data", suffix="JPG")
    source = "from glob import glob\nroot = 'data'\nfiles = glob(root + '/train/*/*.jpg')\n"
    (finding,) = loud(survey(project(tmp_path, source), lambda _line: None))
    assert finding.code == "PM652"
    assert "72 files end in `.JPG`" in finding.message


@pytest.mark.parametrize(
    "source",
    [
        "from glob import glob\nfiles = glob('data/*.png') + glob('data/**/*.JPG')\n",
        "import os\nfiles = [f for f in os.listdir('data') if f.lower().endswith('.jpg')]\nglob('data/*.jpg')\n",
    ],
)
def test_a_script_that_takes_several_suffixes_is_left_alone(source, tmp_path):
    make.image_folder(tmp_path / "data", suffix="JPG")
    assert loud(survey(project(tmp_path, source), lambda _line: None)) == []


def test_clips_longer_than_every_sequence_are_named(tmp_path):
    make.sequences(tmp_path / "data", number=3, frames=6)
    source = "CLIP_LEN = 9\nroot = 'data/train'\n"
    (finding,) = loud(survey(project(tmp_path, source), lambda _line: None))
    assert (finding.code, finding.severity) == ("PM654", Severity.ERROR)
    assert "the longest of all has 6" in finding.message


def test_clips_that_fit_are_not(tmp_path):
    make.sequences(tmp_path / "data", number=3, frames=9)
    assert loud(survey(project(tmp_path, "CLIP_LEN = 9\nroot = 'data/train'\n"), lambda _line: None)) == []


def test_an_empty_data_folder_is_an_error(tmp_path):
    (tmp_path / "data" / "train").mkdir(parents=True)
    (finding,) = loud(survey(project(tmp_path, "data_dir = 'data/train'\n"), lambda _line: None))
    assert finding.code == "PM650"


def test_outputs_and_sources_are_no_data(tmp_path):
    for name in ("outputs", "checkpoints", "runs"):
        (tmp_path / name).mkdir()
    make.text(tmp_path / "data" / "loader.py", "x = 1\n")
    source = (
        "out = 'outputs'\nckpt_dir = 'checkpoints'\nlog = './runs/'\nimport data.loader\nmodule = './data'\n"
    )
    part = survey(project(tmp_path, source), lambda _line: None)
    assert part.findings == []
    assert part.record["roots"] == []


def test_only_the_branches_that_are_mentioned_are_surveyed(tmp_path):
    make.image_folder(tmp_path / "data/mine")
    make.image_folder(tmp_path / "data/other")
    found = opened(project(tmp_path, "root = 'data'\nmine = 'data/mine/train'\n"))
    assert found.roots == {(tmp_path / "data").resolve(): {"mine"}}


def test_a_script_without_data_says_what_to_do(tmp_path):
    part = survey(project(tmp_path, "print('hello')\n"), lambda _line: None)
    assert part.findings == []
    assert part.skipped == "no data folder was found in the script's source; `--data DIR` looks at one"


@pytest.mark.parametrize("source", ["def broken(:\n", "\0", "x = " + "(" * 500])
def test_a_script_that_cannot_be_parsed_is_one_sentence(source, tmp_path):
    (tmp_path / "train.py").write_text(source)
    part = survey(Project(folder=tmp_path, target="train.py"), lambda _line: None)
    assert "could not be read" in part.skipped


def test_a_pattern_for_results_is_none_for_data(tmp_path):
    make.image_folder(tmp_path / "data")
    source = (
        "import os\nfrom glob import glob\nroot = 'data/train'\nos.listdir(root)\nold = glob('plots/*.png')\n"
    )
    assert loud(survey(project(tmp_path, source), lambda _line: None)) == []


def test_an_odd_size_is_only_told_where_the_code_resizes(tmp_path):
    for number in range(40):
        make.image(
            tmp_path / "data" / f"n{number * 3}.png", number, size=(20, 32) if number == 9 else (24, 32)
        )
    source = "from torchvision import transforms\nroot = 'data'\nt = transforms.Resize(32)\n"
    (finding,) = survey(project(tmp_path, source), lambda _line: None).findings
    assert (finding.code, finding.severity) == ("PM660", Severity.INFO)


def test_a_folder_that_pictures_are_written_to_is_no_data(tmp_path):
    (tmp_path / "train_samples").mkdir()
    source = "from torchvision.utils import save_image\nsample_dir = 'train_samples'\nsave_image(x, 'train_samples/1.png')\n"
    assert survey(project(tmp_path, source), lambda _line: None).findings == []


def test_the_config_beside_the_script_counts_wherever_it_is_started(tmp_path):
    folder, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    elsewhere.mkdir()
    make.sequences(folder / "data/gopro", splits=("train", "val"), number=2, frames=3)
    source = """
        from pathlib import Path
        import yaml
        HERE = Path(__file__).resolve().parent
        cfg = yaml.safe_load((HERE / "config.yaml").read_text())
        root = HERE / cfg["DATA"]["ROOT"]
        files = sorted((root / "Train").iterdir())
    """
    project(folder, source, config__yaml="DATA:\n  ROOT: data/gopro\n")
    found = opened(Project(folder=elsewhere, target=str(folder / "train.py")))
    assert (folder / "data" / "gopro").resolve() in {*found.roots, *(r.parent for r in found.roots)}
    assert [miss.there.rpartition("/")[2] for miss in found.misses] == ["train"]


def test_a_folder_that_the_script_fills_itself_is_not_missed_while_it_is_empty(tmp_path):
    """`torch.load` is not the script's own `load`: what is handed to the one does not reach the other."""
    (tmp_path / "data").mkdir()
    source = """
        from pathlib import Path
        import torch
        HERE = Path(__file__).resolve().parent

        def load(split, folder):
            path = Path(folder) / f"{split}-{hash(split)}.pt"
            if not path.exists():
                torch.save(torch.rand(3), path)
            return torch.load(path)

        splits = {name: load(name, HERE / "data") for name in ("train", "val")}
        best = torch.load(HERE / "runs" / "best.pt")
    """
    part = survey(project(tmp_path, source), lambda _sentence: None)
    assert loud(part) == []
