"""What the page says about the trials of `premortem why`."""

from premortem.report import plots, trials


def row(title, verdict="nothing", **more):
    return {
        "change": title.replace(" ", "-"),
        "title": title,
        "question": "update",
        "verdict": verdict,
        "metric": "loss",
        "as_is": 2.3,
        "changed": 2.2,
        "why": "",
        "curve": [2.3, 2.2],
        **more,
    }


def read(*rows, questions=()):
    as_is = {"curves": [[2.3, 2.2], [2.4, 2.3]], "backwards": 2, "sentence": "it learns"}
    return trials._read({"verdict": "healthy", "trials": rows, "questions": questions, "as_is": as_is})


def test_a_proposal_that_cheats_or_cannot_be_tried_is_called_that():
    cheating = row("a.diff", question="proposals", why="cheats: its gradients are zero")
    unfit = row("b.diff", "skipped", question="proposals", as_is=None, why="it does not apply: no such file")
    shown = {
        each["title"]: each["effect"] for each in read(cheating, unfit, row("no clipping", "skipped")).rows
    }
    assert shown == {
        "a.diff": "loss 2.3 → 2.2 (cheats: its gradients are zero)",
        "b.diff": "it does not apply: no such file",
    }


def test_a_question_has_the_titles_of_its_trials_or_why_it_was_not_asked():
    asked = {
        "question": "is the update at fault?",
        "answer": "no",
        "trials": ["no-clipping"],
        "skipped": {"a": "b"},
    }
    left = {
        "question": "the mode?",
        "answer": "not asked",
        "trials": [],
        "skipped": {"a": "nothing is dropped", "b": ""},
    }
    shown = read(row("no clipping"), questions=(asked, left)).questions
    assert [each["trials"] for each in shown] == ["no clipping", "nothing is dropped"]


def test_the_names_of_many_curves_do_not_lie_over_them():
    drawn = read(*(row(f"change {number}") for number in range(9))).curves
    assert 4 < len(drawn) <= len(plots.LINES), "one colour each"
    plot = plots.curves("loss", drawn)
    assert plot.legend[0] in plot.below
    few = plots.curves("loss", dict(list(drawn.items())[:2]))
    assert few.legend[0] in few.center
