"""What a person sees of `premortem why`, and what is done for them: columns, words, the fix in their files, trials side by side."""

import argparse
import io

import pytest
from rich.console import Console

from premortem.errors import PremortemError
from premortem.why import page, side_by_side, verb, verdict, yardsticks
from premortem.why.director import Why
from premortem.why.order import Result
from premortem.why.verdict import Row, Verdict


def test_only_as_many_trials_run_side_by_side_as_there_is_room_for():
    small, large = Result(memory=1 << 30), Result(memory=8 << 30)
    assert side_by_side.fitting(8, small, free=16 << 30) == 8
    assert side_by_side.fitting(8, large, free=16 << 30) == 1
    on_gpu = Result(memory=1 << 30, gpu=[9 << 30, 30 << 30])
    assert side_by_side.fitting(8, on_gpu, free=64 << 30) == 3, "of 40 GiB, each uses 10"
    assert side_by_side.fitting(8, Result(), free=0) == 8, "nothing is known"


def test_a_script_that_cannot_be_seeded_is_seen_by_its_first_loss():
    def run(*losses):
        return Result(losses={"train.py:3": list(losses)}, backwards=len(losses))

    as_is = run(1.0, 0.9, 0.8, 0.7)
    assert not yardsticks.unlike(as_is, run(1.0, 0.5, 0.2, 0.1))
    assert yardsticks.unlike(as_is, run(1.1, 0.9, 0.8, 0.7)) == "1 and 1.1"


def test_what_was_not_tried_is_not_said_to_be_of_no_help():
    finding = {
        "code": "PM221",
        "name": "clipped-hard-every-step",
        "family": "clipping",
        "severity": "error",
        "certainty": "measured",
        "where": {},
        "message": "clipped",
    }
    row = Row("no-clipping", "no clipping", "update", "clipping")
    done = Why(rows=[row], findings=[finding], verdict=Verdict("cause", "", findings=[finding]))
    assert page.causes(done)[0]["message"].endswith("No change was tried that may remove it.")
    row.verdict = "nothing"
    assert page.causes(done)[0]["message"].endswith("No change that I have removes it.")


@pytest.mark.parametrize(("width", "lines"), [(60, 2), (120, 1)])
def test_a_screen_gets_two_columns_and_a_file_one_line(width, lines):
    said = "loss 1.378 → 0.003258 and again under another seed, which is what it takes"
    screen = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    page.line(screen, "no clipping", said)
    shown = screen.file.getvalue().splitlines()
    assert len(shown) == lines
    assert all(len(each.rstrip()) <= width for each in shown)
    assert all(each.startswith(" " * 20) for each in shown[1:])
    piped = Console(file=io.StringIO(), width=width)
    page.line(piped, "no clipping", said)
    assert piped.file.getvalue() == f"{'no clipping':<36} {said}\n"


def test_a_file_that_was_edited_meanwhile_is_left_alone(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("lr = 1\n")
    fix = {"diff": "", "verified": True, "files": {str(script): "lr = 2\n"}}
    done = Why(patch={**fix, "before_files": {str(script): "lr = 1\n"}})
    options = argparse.Namespace(json=None, patch=None, apply=True)
    quiet = Console(file=io.StringIO())
    script.write_text("lr = 1  # mine\n")
    with pytest.raises(PremortemError, match="not the file that was tried"):
        verb._write(options, done, quiet)
    assert script.read_text() == "lr = 1  # mine\n"
    script.write_text("lr = 1\n")
    verb._write(options, done, quiet)
    assert script.read_text() == "lr = 2\n"
    assert "applied" in quiet.file.getvalue()
    done.patch["verified"] = False
    verb._write(options, done, quiet)
    assert "not applied" in quiet.file.getvalue()


def test_where_a_run_starts_slowly_the_lack_of_time_is_explained():
    row = Row("rate-times-ten", "rate × 10", "update", "lr")
    facts = {"learns": True, "diverges": False, "judged": True, "seeds": 3}
    assert "47 s before its first step" in verdict.conclude([row], [], **facts, start=47.0).sentence
    assert "first step" not in verdict.conclude([row], [], **facts).sentence
