"""A script is saved, killed and resumed: whether it is the same run, and what it has lost."""

import functools
import sys

import pytest

from premortem.errors import UsageError
from premortem.proof.page import record, verdict
from premortem.proof.prove import ProofOptions, prove
from tests import starting
from tests.vault.proof import scripts

STEPS = 5


MORE = functools.partial(pytest.param, marks=pytest.mark.exhaustive)


@pytest.fixture
def proved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def proved(source, *argv, **options):
        (tmp_path / "train.py").write_text(source)
        before = sorted(path.name for path in tmp_path.rglob("*"))
        proof = prove(ProofOptions(argv=["train.py", *argv], steps=STEPS, seconds=100, **options))
        assert sorted(path.name for path in tmp_path.rglob("*")) == before, "it wrote into the user's folder"
        record(proof)
        return proof

    return proved


def lost(proof):
    assert not proof.problem, proof.problem + proof.tail
    return {piece.name for piece in proof.comparison.lost}


def test_a_resume_that_restores_everything_is_the_same_run(proved):
    proof = proved(scripts.EXACT)
    assert lost(proof) == set()
    assert proof.exact, verdict(proof)
    assert (proof.step, proof.comparison.steps) == (4, STEPS)
    assert proof.entrance == "--resume ckpt/epoch_0.pt"


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('        optimizer.load_state_dict(state["optimizer"])\n', "optimizer state (Adam)"),
        MORE('        scheduler.load_state_dict(state["scheduler"])\n', "scheduler (StepLR)"),
        MORE('        torch.set_rng_state(state["rng"])\n', "random state"),
    ],
)
def test_the_piece_that_is_not_restored_is_named(proved, line, named):
    assert line in scripts.EXACT
    proof = proved(scripts.EXACT.replace(line, ""))
    assert named in lost(proof)
    assert not proof.exact
    others = {"weights", "buffers (batch-norm statistics)", "counter `epoch`"}
    assert not others & lost(proof)


@pytest.mark.exhaustive
def test_all_that_a_forgetful_script_loses(proved):
    proof = proved(scripts.FORGETFUL)
    assert proof.entrance == "the same command again"
    assert lost(proof) >= {
        "optimizer state (SGD)",
        "data position",
        "counter `step`",
        "random state",
    }
    assert "variable `self.best`" in lost(proof)
    assert "weights" not in lost(proof)


@pytest.mark.exhaustive
def test_a_checkpoint_behind_a_link_is_found_again(proved):
    assert "symlink_to" in scripts.LINKED
    proof = proved(scripts.LINKED)
    assert proof.entrance == "the same command again"
    assert "weights" not in lost(proof)


@pytest.mark.exhaustive
def test_a_folder_is_given_where_a_folder_is_wanted(proved):
    proof = proved(scripts.FOLDERS)
    assert proof.exact, verdict(proof)
    assert proof.entrance == "--resume ckpt/checkpoint-0"


@pytest.mark.exhaustive
def test_generators_that_training_does_not_draw_from_are_no_loss(proved):
    proof = proved(scripts.EXACT.replace('        random.setstate(state["python"])\n', ""))
    assert proof.exact, verdict(proof)


@pytest.mark.exhaustive
def test_statistics_that_are_not_in_the_file(proved):
    proof = proved(scripts.PARAMETERS_ONLY)
    assert lost(proof) == {"buffers (batch-norm statistics)"}
    assert proof.entrance == "--restart"


@pytest.mark.exhaustive
def test_a_script_that_saves_only_at_its_end_proves_nothing(proved):
    assert "no step after its first save" in proved(scripts.AT_THE_END).problem


def test_a_script_that_never_saves_proves_nothing(proved):
    assert "saved nothing" in proved(scripts.NEVER).problem


def test_a_script_without_a_resume_is_told_what_was_tried(proved):
    proof = proved(scripts.NO_RESUME)
    assert "the same command again" in proof.problem
    assert "--resume-with" in proof.problem


@pytest.mark.exhaustive
def test_words_of_the_users_own(proved):
    source = scripts.EXACT.replace('"--resume"', '"--go-from"').replace("args.resume", "args.go_from")
    assert proved(source, resume_with="--go-from {}").exact


def test_a_script_that_crashes_says_so(proved):
    proof = proved("import torch\nraise ValueError('no data')\n")
    assert "no data" in proof.problem


def test_no_script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        prove(ProofOptions(argv=["missing.py"]))


@pytest.mark.exhaustive
def test_the_verb_exits_with_one_when_it_is_not_the_same_run(tmp_path):
    (tmp_path / "train.py").write_text(scripts.FORGETFUL)
    command = [sys.executable, "-m", "premortem", "ckpt", "prove", "train.py"]
    done = starting.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "differs" in done.stdout
    assert "optimizer state (SGD)" in done.stdout


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "rate",
    [
        "lambda epoch: 1 / (epoch + 1)",
        MORE("functools.partial(lambda by, epoch: 1 / (epoch + by), 1)"),
    ],
)
def test_a_schedule_given_as_a_function_is_kept(proved, rate):
    source = "import functools\n" + scripts.EXACT.replace(
        "StepLR(optimizer, 2)", f"LambdaLR(optimizer, {rate})"
    )
    assert rate in source
    proof = proved(source)
    assert lost(proof) == set()
    assert proof.exact, verdict(proof)
