"""What is in a file is told rightly, whoever wrote it, and nothing is read before it is asked for."""

import subprocess
import sys

import pytest
import torch

from premortem.errors import VaultError
from premortem.vault.contents import open_contents
from tests.vault.reading import files

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*torch.distributed.*", "ignore:TypedStorage", "ignore:Sparse"
)


@pytest.fixture(params=["zipped", "without_checksums", "legacy", "distributed", "parts"])
def training(request, tmp_path):
    with open_contents(getattr(files, request.param)(tmp_path / "checkpoint.pt")) as contents:
        yield contents


def test_every_tensor_is_what_was_saved(training):
    for name, tensor in files.state()["model"].items():
        record = training.tensors[f"model.{name}"]
        assert record.shape == tuple(tensor.shape)
        assert record.dtype == str(tensor.dtype).removeprefix("torch.")
        assert record.bytes == tensor.nbytes
        assert torch.equal(training.read(f"model.{name}"), tensor)


def test_plain_values_have_dotted_paths(training):
    assert training.format == "folder of parts" or training.plain["epoch"] == 3
    assert training.plain["optimizer.param_groups.0.lr"] == pytest.approx(1e-3)
    assert training.plain["scheduler.last_epoch"] == 1


def test_the_parts_are_told_by_their_look(training):
    kinds = {part.path: part.kind for part in training.state_dicts()}
    assert kinds == {"model": "module", "optimizer": "optimizer", "scheduler": "scheduler"}


def test_a_branch_can_be_loaded(training):
    model, optimizer, _ = files.trained()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    model.load_state_dict(training.value("model"))
    optimizer.load_state_dict(training.value("optimizer"))
    assert torch.equal(model[0].weight, files.state()["model"]["0.weight"])


def test_what_else_checkpoints_hold(tmp_path):
    torch.save(files.rich_state(), tmp_path / "rich.pt")
    with open_contents(tmp_path / "rich.pt") as contents:
        assert contents.plain["best"] == pytest.approx(0.25)
        assert contents.plain["history"] == [0.5, 0.25]
        assert contents.plain["args.lr"] == pytest.approx(0.1)
        assert torch.equal(contents.read("turned"), torch.arange(20.0).reshape(4, 5).t())
        assert contents.tensors["same"].bytes == 4  # it is one number, a million times
        assert contents.tensors["small"].dtype == "float8_e4m3fn"
        assert contents.tensors["sparse"].shape == (3, 3)
        assert torch.equal(contents.read("sparse").to_dense(), torch.eye(3))
        assert contents.value()["history"] == [0.5, 0.25]
        assert torch.equal(contents.read("learned"), torch.ones(2))
        assert contents.plain["numpy.old.0"] == "MT19937"
        assert contents.foreign == ()
        # A score in a callback's notes is no module.
        assert {part.path for part in contents.state_dicts()} == {"model", "optimizer", "scheduler"}


def test_a_pickled_model_is_read_like_its_state_dict(tmp_path):
    model = files.trained()[0]
    torch.save(model, tmp_path / "model.pt")
    with open_contents(tmp_path / "model.pt") as contents:
        assert set(contents.tensors) == set(model.state_dict())
        assert torch.equal(contents.read("0.weight"), model[0].weight)
        assert "torch.nn.modules.linear.Linear" in contents.foreign


@pytest.mark.parametrize("make", ["safe", "shards"])
def test_safetensors_and_shards(make, tmp_path):
    with open_contents(getattr(files, make)(tmp_path / "m.safetensors")) as contents:
        for name, tensor in files.state()["model"].items():
            assert torch.equal(contents.read(name), tensor)
        assert [part.kind for part in contents.state_dicts()] == ["module"]


def test_two_leaves_with_one_path_are_both_there(tmp_path):
    torch.save({"a.b": torch.ones(1), "a": {"b": torch.zeros(1)}}, tmp_path / "x.pt")
    with open_contents(tmp_path / "x.pt") as contents:
        assert contents.read("a.b").item() == 1.0
        assert contents.read("a.b~2").item() == 0.0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (bytes(4096), "never reached the disk"),
        (b"<html>404</html>", "a download went wrong"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"hello", "fit no format"),
    ],
)
def test_a_file_that_is_no_checkpoint_is_told_what_it_is(content, words, tmp_path):
    (tmp_path / "x.pt").write_bytes(content)
    with pytest.raises(VaultError, match=words):
        open_contents(tmp_path / "x.pt")


def test_listing_needs_no_torch(tmp_path):
    files.zipped(tmp_path / "a.pt")
    files.safe(tmp_path / "b.safetensors")
    code = (
        "import sys; sys.modules['torch'] = None; sys.modules['numpy'] = None\n"
        "from premortem.vault.contents import open_contents\n"
        "from premortem.vault.verify import verify\n"
        "from premortem.cli import main\n"
        "print(open_contents('a.pt').tensors['model.0.weight'].shape, verify('a.pt').ok, verify('b.safetensors').ok)\n"
        "sys.exit(main(['ckpt', 'list']) or main(['ckpt', 'inspect', 'a.pt']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("(8, 4) True True")
