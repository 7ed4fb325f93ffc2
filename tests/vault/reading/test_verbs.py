"""`premortem ckpt`: what people see, and the exit codes other tools rely on."""

import json
import os
import sys

import pytest
import torch

import premortem
from premortem.cli import main
from premortem.vault.kept_versions import Shelf
from premortem.vault.manifest import FileRecord, Manifest
from premortem.vault.verify import checksum
from tests import starting
from tests.vault.reading import files

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.distributed.*", "ignore:TypedStorage")


@pytest.fixture(autouse=True)
def at_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def ckpt(capsys, *words):
    code = main(["ckpt", *map(str, words)])
    said = capsys.readouterr()
    return code, said.out, said.err


def keep(path, step, source):
    """A version as a run keeps it: its manifest beside it."""
    about = Manifest(
        step=step, time=float(step), kind="kept", source=str(source), files={path.name: checksum(path)}
    )
    about.write(path.with_name(f"{path.name}.manifest.json"))
    return path


@pytest.fixture
def run(tmp_path):
    """The folder of a run with three versions of last.pt; the newest is damaged, but nobody knows."""
    folder = tmp_path / "run" / "kept" / "last.pt-abc"
    folder.mkdir(parents=True)
    for step in (1, 2, 3):
        path = folder / f"{step:06d}.pt"
        torch.save({"w": torch.full((50,), float(step))}, path)
        keep(path, step, tmp_path / "last.pt")
    files.flip(folder / "000003.pt", 8 * 1500)
    return tmp_path / "run"


def test_verify_says_ok(capsys):
    files.zipped("x.pt")
    code, out, _ = ckpt(capsys, "verify", "x.pt")
    assert code == 0
    assert "ok  x.pt" in out
    assert "whole and finite" in out


def test_verify_names_the_damaged_record(capsys, tmp_path):
    path = files.zipped(tmp_path / "x.pt")
    weight = files.state()["model"]["0.weight"].numpy().tobytes()
    files.flip(path, 8 * path.read_bytes().index(weight))
    code, out, _ = ckpt(capsys, "verify", "x.pt")
    assert code == 1
    assert "damaged record `data/0`" in out


def test_verify_of_a_folder_judges_each(capsys, tmp_path):
    files.zipped(tmp_path / "a.pt")
    files.safe(tmp_path / "b.safetensors")
    files.distributed(tmp_path / "c")
    files.shards(tmp_path / "d")
    (tmp_path / "train.bin").write_bytes(bytes(range(256)))  # a data set, no checkpoint
    code, out, _ = ckpt(capsys, "verify", "--json", ".")
    found = {each["path"]: each["ok"] for each in json.loads(out)}
    assert code == 0
    assert found == {"a.pt": True, "b.safetensors": True, "c": True, "d": True}


def test_a_pipe_is_passed_by(capsys, tmp_path):
    files.zipped(tmp_path / "x.pt")
    os.mkfifo(tmp_path / "pipe.pt")
    assert ckpt(capsys, "verify", ".")[0] == 0


def test_verify_refuses_a_malicious_file(capsys, tmp_path):
    class Evil:
        def __reduce__(self):
            return (os.system, ("touch HACKED",))

    torch.save({"w": torch.ones(2), "x": Evil()}, "evil.pt")
    code, out, _ = ckpt(capsys, "verify", "evil.pt")
    assert code == 1
    assert "refused" in out
    assert "posix.system" in out
    assert not (tmp_path / "HACKED").exists()


def test_verify_of_weights_that_are_not_finite(capsys):
    torch.save({"w": torch.tensor([1.0, float("nan")])}, "x.pt")
    code, out, _ = ckpt(capsys, "verify", "x.pt", "--json")
    assert code == 1
    assert json.loads(out)[0]["non_finite"] == [{"name": "w", "nan": 1, "inf": 0, "elements": 2}]


@pytest.mark.parametrize(
    "words", [["verify"], ["verify", "nothing.pt"], ["verify", "."], ["verify", "--jsn", "x"], ["vrify"]]
)
def test_what_was_called_wrongly_is_two(words, capsys):
    code, out, err = ckpt(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("premortem: ")


def test_a_stranger_cannot_steer_the_terminal(capsys):
    torch.save({"\x1b[31mred": torch.ones(2)}, "x.pt")
    _, out, _ = ckpt(capsys, "inspect", "x.pt")
    assert "\x1b" not in out
    assert "\\x1b[31mred" in out


def test_inspect_shows_parts_tensors_and_values(capsys):
    torch.save(files.rich_state(), "x.pt")
    code, out, _ = ckpt(capsys, "inspect", "x.pt")
    assert code == 0
    for word in (
        "optimizer  optimizer",
        "scheduler  scheduler",
        "model.0.weight",
        "8×4",
        "args.out",
        "runs/a",
        "1000×1000",
    ):
        assert word in out
    code, out, _ = ckpt(capsys, "inspect", "--json", "x.pt")
    assert json.loads(out)["tensors"]["model.0.weight"] == {"shape": [8, 4], "dtype": "float32", "bytes": 128}


def test_list_shows_versions_with_what_they_are_of(capsys, run):
    code, out, _ = ckpt(capsys, "list", run, "--json")
    assert code == 0
    assert [(each["step"], each["kind"], each["source"]) for each in json.loads(out)] == [
        (step, "kept", str(run.parent / "last.pt")) for step in (1, 2, 3)
    ]


def test_a_capsule_is_no_checkpoint(capsys, run):
    (run / "capsules" / "step-5").mkdir(parents=True)
    (run / "capsules" / "step-5" / "capsule.json").write_text("{}")
    files.safe(run / "capsules" / "step-5" / "state.safetensors")
    _, out, _ = ckpt(capsys, "list", run, "--json")
    assert len(json.loads(out)) == 3


def test_what_a_run_put_into_quarantine_is_judged_only_when_it_is_named(capsys, tmp_path):
    bad = tmp_path / "run" / "quarantine" / "x.pt-abc" / "000001.pt"
    bad.parent.mkdir(parents=True)
    torch.save({"w": torch.tensor([float("nan"), 1.0])}, bad)
    keep(bad, 1, tmp_path / "x.pt")
    files.zipped(tmp_path / "run" / "good.pt")
    assert ckpt(capsys, "verify", "run")[0] == 0
    assert ckpt(capsys, "verify", bad)[0] == 1


def test_diff_says_what_moved(capsys):
    state = files.state()
    torch.save(state, "a.pt")
    state["model"]["2.bias"] += 1.0
    torch.save(state | {"epoch": 4}, "b.pt")
    assert ckpt(capsys, "diff", "a.pt", "a.pt")[0] == 0
    code, out, _ = ckpt(capsys, "diff", "a.pt", "b.pt", "--json")
    found = json.loads(out)
    assert code == 1
    assert [each["name"] for each in found["changes"] if not each["same"]] == ["model.2.bias"]
    assert [each["largest"] for each in found["changes"] if not each["same"]] == [pytest.approx(1.0)]
    assert found["values"] == {"epoch": ["3", "4"]}


@pytest.mark.parametrize("which", ["A", "B"])
def test_diff_says_which_one_is_damaged(capsys, tmp_path, which):
    for name in "AB":
        files.zipped(tmp_path / name)
    weight = files.state()["model"]["0.weight"].numpy().tobytes()
    files.flip(tmp_path / which, 8 * (tmp_path / which).read_bytes().index(weight))
    code, out, _ = ckpt(capsys, "diff", "A", "B")
    assert code == 1
    assert f"{which} is damaged" in out
    assert out.count(" is damaged") == 1
    assert "data/0" in out
    assert list(json.loads(ckpt(capsys, "diff", "A", "B", "--json")[1])["damaged"]) == [which]


def test_zeros_in_quarantine_are_not_listed_as_not_finite(capsys, tmp_path):
    shelf = Shelf(tmp_path / "run")
    for number, poisoned in enumerate([("all of them",), ("fc.weight",)]):
        torch.save({"w": torch.zeros(3)}, "draft")
        shelf.divert(tmp_path / "draft", tmp_path / f"{number}.pt", number, poisoned)
    shelf.clerk.wait(5)
    out = ckpt(capsys, "list", "run")[1]
    assert "nothing but zeros in all of them" in out
    assert "not finite: all" not in out
    assert "not finite: fc.weight" in out


def test_diff_sees_through_a_prefix(capsys):
    weights = files.state()["model"]
    torch.save(weights, "a.pt")
    torch.save({f"module.{name}": tensor for name, tensor in weights.items()}, "b.pt")
    code, out, _ = ckpt(capsys, "diff", "a.pt", "b.pt", "--json")
    found = json.loads(out)
    assert code == 1
    assert "module." in found["renaming"]
    assert (found["only_a"], found["only_b"], all(each["same"] for each in found["changes"])) == (
        [],
        [],
        True,
    )


def test_restore_walks_back_to_the_newest_that_is_whole(capsys, run, tmp_path):
    code, out, _ = ckpt(capsys, "restore", run)
    assert code == 0
    assert "skipped" in out
    assert torch.load("last.pt")["w"][0] == 2.0


def test_restore_replaces_only_when_told_and_puts_aside_what_was_there(capsys, run, tmp_path):
    torch.save({"w": torch.zeros(50)}, "last.pt")
    code, _, err = ckpt(capsys, "restore", run, "--step", "1")
    assert code == 2
    assert "--force" in err
    assert ckpt(capsys, "restore", run, "--step", "1", "--force")[0] == 0
    assert torch.load("last.pt")["w"][0] == 1.0
    assert ckpt(capsys, "restore", ".premortem/replaced", "--to", "back.pt")[0] == 0
    assert torch.load("back.pt")["w"][0] == 0.0


def test_what_is_put_aside_does_not_grow_without_end(capsys, run, tmp_path):
    for number in range(6):
        torch.save({"w": torch.full((50,), float(number))}, "last.pt")
        assert ckpt(capsys, "restore", run, "--step", "1", "--force")[0] == 0
    kept = sorted(each.name for each in (tmp_path / ".premortem" / "replaced").glob("*/*"))
    assert len(kept) == 6  # three files, each with its manifest


def test_nothing_is_restored_from_damage_alone(capsys, run, tmp_path):
    code, out, _ = ckpt(capsys, "restore", run, "--step", "3")
    assert code == 1
    assert "Nothing was restored" in out
    assert not (tmp_path / "last.pt").exists()
    assert not [each for each in tmp_path.iterdir() if ".partial-" in each.name]


def test_adopted_files_cannot_change_unseen(capsys, tmp_path):
    path = files.safe(tmp_path / "x.safetensors")
    assert ckpt(capsys, "adopt", "x.safetensors")[0] == 0
    assert {each.name for each in tmp_path.iterdir()} == {".premortem", "x.safetensors"}  # nothing beside it
    code, out, _ = ckpt(capsys, "verify", "x.safetensors")
    assert (code, "sha256" in out) == (0, True)
    files.flip(path, 8 * (path.stat().st_size - 30) + 1)
    code, out, _ = ckpt(capsys, "verify", "x.safetensors")
    assert code == 1
    assert "`x.safetensors`" in out


def test_a_file_that_was_saved_again_is_not_called_damaged(capsys, tmp_path):
    files.zipped(tmp_path / "x.pt")
    assert ckpt(capsys, "adopt", "x.pt")[0] == 0
    torch.save({"w": torch.ones(5)}, "x.pt")
    code, out, _ = ckpt(capsys, "verify", "x.pt")
    assert (code, "adopt it again" in out) == (0, True)
    files.flip(tmp_path / "x.pt", 8 * 900)
    assert ckpt(capsys, "verify", "x.pt")[0] == 1


def test_a_folder_can_be_adopted(capsys, tmp_path):
    folder = files.distributed(tmp_path / "dcp")
    assert ckpt(capsys, "adopt", "dcp")[0] == 0
    assert ckpt(capsys, "verify", "dcp")[0] == 0
    (folder / "__0_0.distcp").unlink()
    code, out, _ = ckpt(capsys, "verify", "dcp")
    assert (code, "__0_0.distcp" in out) == (1, True)


def test_a_damaged_file_is_not_adopted(capsys, tmp_path):
    torch.save({"w": torch.tensor([float("inf"), 1.0])}, "x.pt")
    code, out, _ = ckpt(capsys, "adopt", "x.pt")
    assert (code, "not adopted" in out) == (1, True)
    assert not (tmp_path / ".premortem").exists()


def test_adopt_into_a_folder_leaves_a_copy_that_can_be_restored(capsys, tmp_path):
    files.zipped(tmp_path / "x.pt")
    assert ckpt(capsys, "adopt", "x.pt", "--into", "safe")[0] == 0
    (tmp_path / "x.pt").unlink()
    assert ckpt(capsys, "restore", "safe")[0] == 0
    assert ckpt(capsys, "verify", "x.pt")[0] == 0
    torch.save({"w": torch.ones(5)}, tmp_path / "safe" / "x.pt")  # whole, but not what was adopted
    assert ckpt(capsys, "verify", "safe")[0] == 1


def test_a_manifest_of_a_vault_that_was_changed_is_damage(capsys, tmp_path):
    (tmp_path / "step-000000001").mkdir()
    manifest = Manifest(step=1, files={"state.json": FileRecord("0" * 64, 3)})
    raw = manifest.render().replace(b'"step": 1', b'"step": 2')
    (tmp_path / "step-000000001" / "manifest.json").write_bytes(raw)
    (tmp_path / "step-000000001" / "state.json").write_bytes(b"{} ")
    code, out, _ = ckpt(capsys, "verify", ".")
    assert code == 1
    assert "not the manifest that was written" in out


@pytest.fixture
def vault(tmp_path):
    """A vault with two checkpoints."""
    model = torch.nn.Linear(4, 2)
    with premortem.Vault(tmp_path / "vault") as vault:
        vault.save(1, model=model).wait()
        vault.save(2, model=model).wait()
    return tmp_path / "vault"


def test_a_vault_is_listed_verified_and_restored(capsys, vault, tmp_path):
    assert ckpt(capsys, "verify", vault)[0] == 0
    weights = vault / "step-000000002" / "model.safetensors"
    files.flip(weights, 8 * (weights.stat().st_size - 2))
    code, out, _ = ckpt(capsys, "verify", vault)
    assert (code, "`model.weight`" in out or "`model.bias`" in out) == (1, True)
    assert ckpt(capsys, "restore", vault, "--to", "back")[0] == 0
    assert ckpt(capsys, "inspect", "back", "--json")[0] == 0
    assert Manifest.read(tmp_path / "back" / "manifest.json").step == 1


def test_a_folder_of_other_things_is_never_replaced(capsys, vault, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "thesis.tex").write_text("ten years")
    assert ckpt(capsys, "restore", vault, "--to", "work", "--force")[0] == 0
    assert (tmp_path / "work" / "thesis.tex").exists()
    assert (tmp_path / "work" / "step-000000002" / "manifest.json").exists()


def test_a_replaced_checkpoint_folder_is_put_aside(capsys, vault, tmp_path):
    assert ckpt(capsys, "restore", vault, "--step", "1", "--to", "back")[0] == 0
    assert ckpt(capsys, "restore", vault, "--step", "2", "--to", "back", "--force")[0] == 0
    assert Manifest.read(tmp_path / "back" / "manifest.json").step == 2
    [aside] = (tmp_path / ".premortem" / "replaced").glob("*/*")
    assert Manifest.read(aside / "manifest.json").step == 1


@pytest.mark.parametrize("named", ["vault", "vault/step-000000002"])
def test_a_checkpoint_of_a_vault_without_its_manifest_does_not_count(named, capsys, vault):
    (vault / "step-000000002" / "manifest.json").unlink()
    code, out, _ = ckpt(capsys, "verify", named)
    assert (code, "no manifest.json" in out) == (1, True)


def test_a_kept_file_with_a_damaged_manifest_is_told(capsys, run):
    files.flip(run / "kept" / "last.pt-abc" / "000001.pt.manifest.json", 8 * 40)
    code, out, _ = ckpt(capsys, "verify", run / "kept" / "last.pt-abc" / "000001.pt")
    assert (code, "000001.pt.manifest.json" in out) == (1, True)


def test_a_mirror_is_read_like_a_folder(capsys, run, tmp_path):
    url = f"file://{run}"
    code, out, _ = ckpt(capsys, "verify", url, "--json")
    assert code == 1
    assert [each["ok"] for each in json.loads(out)] == [True, True, False]
    assert ckpt(capsys, "restore", url, "--to", "back.pt")[0] == 0
    assert torch.load("back.pt")["w"][0] == 2.0


def test_any_address_of_fsspec_is_a_mirror(capsys, run):
    from fsspec.implementations.memory import MemoryFileSystem

    there = MemoryFileSystem()
    there.put(str(run), "/bucket/run", recursive=True)
    try:
        code, out, _ = ckpt(capsys, "list", "memory://bucket/run", "--json")
        names = [each["name"] for each in json.loads(out)]
        assert (code, len(names)) == (0, 3)
        assert ckpt(capsys, "verify", f"memory://bucket/run/{names[0]}")[0] == 0
        assert ckpt(capsys, "restore", "memory://bucket/run", "--to", "back.pt")[0] == 0
    finally:
        there.rm("/bucket", recursive=True)
    assert torch.load("back.pt")["w"][0] == 2.0


def test_a_folder_of_parts_is_inspected_as_one(capsys, tmp_path):
    files.parts(tmp_path / "checkpoint-500")
    code, out, _ = ckpt(capsys, "inspect", "checkpoint-500", "--json")
    assert code == 0
    assert [part["path"] for part in json.loads(out)["parts"]] == ["model", "optimizer", "scheduler"]


def test_an_upload_without_its_manifest_is_told(capsys, run, tmp_path):
    torch.save({"w": torch.ones(3)}, run / "half.pt")
    _, out, _ = ckpt(capsys, "list", f"file://{run}", "--json")
    assert [each["remark"] for each in json.loads(out) if each["name"] == "half.pt"] == [
        "no manifest: not sent by premortem, or not sent to its end"
    ]


def test_the_command_line_itself(tmp_path):
    files.zipped(tmp_path / "x.pt")
    command = [sys.executable, "-m", "premortem", "ckpt", "verify", "x.pt", "--json"]
    done = starting.run(command, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)[0]["checksum"] == "crc32"


def test_weights_are_not_buried_under_the_state_of_the_optimizer(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    for name in ("a.pt", "b.pt"):
        model(torch.randn(4, 3)).pow(2).sum().backward()
        optimizer.step()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, name)
    _code, out, _ = ckpt(capsys, "diff", "a.pt", "b.pt")
    rows = [line.split()[0] for line in out.splitlines() if line.startswith(("model.", "optimizer.state"))]
    assert sorted(rows[:2]) == ["model.bias", "model.weight"]
    assert len(rows) == 5
    assert "… and 3 more, 3 of them state of the optimizer: --all" in out
    _code, out, _ = ckpt(capsys, "diff", "a.pt", "b.pt", "--all")
    assert out.count("optimizer.state") == 6
