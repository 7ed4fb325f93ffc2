"""DeepSpeed's engine, with ZeRO-1 and 2, on two ranks: `make doors`."""

import sys

import pytest

from tests.ranks.launching import SCRIPT, faults_of_ours, started, together
from tests.ranks.test_sharded import said

pytest.importorskip("deepspeed", reason="deepspeed is not installed: make doors")

ENGINE = SCRIPT.with_name("engine.py")
PATIENCE = 240  # seconds; to import it takes several, on a busy machine a minute


@pytest.fixture(autouse=True)
def _on_the_cpu(monkeypatch):
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")


@pytest.mark.parametrize("words", [("0",), ("1", "accumulate"), ("2",)], ids="-".join)
def test_the_engine_of_deepspeed_is_watched_in_silence(words, tmp_path):
    codes, alone = started(tmp_path, [sys.executable, str(ENGINE), *words], timeout=PATIENCE)
    assert codes == [0, 0], alone
    codes, record, watched = together(tmp_path, *words, script=ENGINE, timeout=PATIENCE)
    assert (codes, record["findings"]) == ([0, 0], []), watched
    assert faults_of_ours(tmp_path) == []
    assert said(watched) == said(alone)
    if words[0] != "0":
        assert "not looked at: under DeepSpeed's ZeRO" in watched[0]


def test_a_part_that_the_optimizer_was_not_given_is_named(tmp_path):
    """The engine has put a flat copy into the optimizer; that is not what was left of a part."""
    codes, record, printed = together(tmp_path, "1", "headless", script=ENGINE, timeout=PATIENCE)
    assert codes == [0, 0], printed
    (finding,) = record["findings"]
    assert (finding["code"], finding["severity"], finding["evidence"]["ranks"]) == (
        "PM103",
        "warning",
        [0, 1],
    )
    assert finding["where"]["module"] == "engine.module.head"
    assert finding["cause"].startswith("the optimizer was built from a part of the model")


def test_what_the_engine_of_deepspeed_leaves_out_is_named(tmp_path):
    codes, record, printed = together(tmp_path, "1", "born", script=ENGINE, timeout=PATIENCE)
    assert codes == [0, 0], printed
    (finding,) = record["findings"]
    line = ENGINE.read_text().splitlines().index("    return torch.log(x - 9)") + 1
    assert (finding["code"], finding["where"]["line"]) == ("PM443", line)


@pytest.mark.parametrize("words", [(), ("own",)], ids=["as the same on all", "as its own"])
def test_a_share_of_deepspeed_is_not_saved_as_if_it_were_all(words, tmp_path):
    codes, printed = started(
        tmp_path, [sys.executable, str(ENGINE), "1", "vault", *words], timeout=PATIENCE, fresh=True
    )
    assert codes == [1, 1], printed
    assert all("save with `engine.save_checkpoint`" in text for text in printed)
