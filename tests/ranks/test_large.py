"""FSDP1, tensor parallel, pipelines, ZeRO and `no_sync`: watched without harm, one verdict of all ranks, copies judged one by one,
checkpoints through the vault."""

import signal
import sys

import pytest

from tests.ranks.launching import SCRIPT, faults_of_ours, started, together
from tests.ranks.test_sharded import history, said

LARGE = SCRIPT.with_name("large.py")
HEALTHY = [
    ("fsdp1", "orig", "nested", "accumulate", "clip"),
    ("fsdp1", "nested"),
    ("tp", "long"),
    ("pp",),
    ("ddp", "accumulate"),
    ("zero", "accumulate"),
]
UNSEEN = {"fsdp1": "under FSDP1", "pp": "in a pipeline"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("words", HEALTHY, ids="-".join)
def test_a_healthy_run_is_watched_in_silence_and_keeps_every_bit(words, tmp_path):
    codes, alone = started(tmp_path, [sys.executable, str(LARGE), *words])
    assert codes == [0, 0], alone
    codes, record, watched = together(tmp_path, *words, script=LARGE)
    assert codes == [0, 0], watched
    assert record["findings"] == []
    assert faults_of_ours(tmp_path) == []
    assert said(watched) == said(alone)
    if words[0] in UNSEEN:
        assert f"not looked at: {UNSEEN[words[0]]}" in watched[0]


@pytest.mark.exhaustive
@pytest.mark.parametrize("words", [("fsdp1", "orig"), ("fsdp1",), ("tp",), ("pp",)], ids="-".join)
def test_a_step_that_one_part_must_not_make_is_made_by_no_rank(words, tmp_path):
    codes, record, printed = together(tmp_path, *words, "nan", script=LARGE)
    assert codes == [0, 0], printed
    (finding,) = record["findings"]
    assert (finding["name"], finding["step"], finding["evidence"]["ranks"]) == ("update-refused", 6, [0, 1])
    assert finding["evidence"]["piece_of_rank"] == 1
    assert finding["where"]["parameter"]
    for lines in said(printed):
        assert history(lines)[4] == history(lines)[5]
        assert lines[1].endswith("0.00999800"), "no scheduler went on"


@pytest.mark.exhaustive
@pytest.mark.parametrize("words", [("fsdp1",), ("pp",)], ids="-".join)
def test_where_it_was_born_is_named(words, tmp_path):
    codes, record, printed = together(tmp_path, *words, "born", script=LARGE)
    assert codes == [0, 0], printed
    (finding,) = record["findings"]
    line = LARGE.read_text().splitlines().index("    return torch.log(x - 9)") + 1
    assert (finding["where"]["line"], finding["evidence"]["origin_on"]) == (line, [1])


@pytest.mark.exhaustive
def test_a_layer_norm_that_drifts_apart_is_named(tmp_path):
    codes, record, printed = together(tmp_path, "tp", "drift", script=LARGE)
    assert codes == [0, 0], printed
    (finding,) = record["findings"]
    assert (finding["name"], finding["step"]) == ("ranks-apart", 2)
    assert finding["where"]["parameter"] == "model.blocks.1.norm.weight"


def histories(folder, *words, ranks=2):
    codes, printed = started(folder, [sys.executable, str(LARGE), *words], ranks)
    assert codes == [0] * ranks, printed
    return [history(lines) for lines in said(printed)]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("fsdp1", "orig"), marks=pytest.mark.slow),
        *(
            pytest.param(words, marks=pytest.mark.exhaustive)
            for words in [("fsdp1", "nested"), ("tp",), ("pp",), ("zero",)]
        ),
    ],
    ids="-".join,
)
def test_a_run_that_is_killed_goes_on_from_the_vault_bit_for_bit(words, tmp_path):
    (tmp_path / "straight").mkdir()
    straight = histories(tmp_path / "straight", *words, "vault")
    codes, printed = started(tmp_path, [sys.executable, str(LARGE), *words, "vault", "killed"])
    assert -signal.SIGKILL in codes, printed
    assert histories(tmp_path, *words, "vault") == [steps[-5:] for steps in straight]


@pytest.mark.slow
def test_a_stage_of_a_pipeline_is_not_saved_as_if_it_were_the_whole_model(tmp_path):
    codes, printed = started(tmp_path, [sys.executable, str(LARGE), "pp", "vault", "plainly"])
    assert codes == [1, 1], printed
    for text in printed:
        assert (
            "`model` is one stage of a pipeline, and other ranks hold other layers; give it as `own=" in text
        )
    assert not list((tmp_path / "vault").glob("step-*"))
