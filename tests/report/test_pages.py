"""Pages of journals as they come: healthy, broken, old, hostile, endless."""

import json
import math
import sqlite3
import threading
import time
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from premortem.errors import JournalError
from premortem.events import LogLine, Site, StepStats
from premortem.findings import Severity, Where
from premortem.journal import Journal, schema
from premortem.report import comparison, html, markdown, story
from tests.report.conftest import finding
from tests.report.reading import Page

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>|`*_ \u202e 模型 🔥"
CALM = [2.0, 1.5, 1.2, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
FORMAT_1 = schema.TABLES.split("CREATE TABLE series")[0]


def markup_in(text):
    """What a renderer that lets HTML through would let through."""
    parsed = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    inner = [child for token in parsed for child in token.children or ()]
    return [token.content for token in [*parsed, *inner] if token.type.startswith("html")]


def both(path):
    told = story.read(path)
    return told, Page(html.page(told)), markdown.page(told)


@pytest.fixture(scope="module")
def whole(broken):
    """A real journal, in one piece."""
    (path,) = (broken / ".premortem" / "runs").glob(f"*/{schema.FILE}")
    copy = path.with_name("copy.sqlite")
    with sqlite3.connect(path) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    source.close()
    target.close()
    return copy.read_bytes()


def test_a_healthy_run_says_so(journal):
    told, page, text = both(journal(losses=CALM, meta={"seconds": 12.0}))
    assert told.verdict.sentence == "Nothing wrong was seen in 10 steps."
    assert told.verdict.tone == "good"
    assert "Nothing wrong was seen in 10 steps. It ran to its end. No findings." in page.text
    assert text.startswith("# Nothing wrong was seen in 10 steps.\n\nIt ran to its end. No findings.")
    assert page.outside == [], "the page loads nothing"
    assert {"timeline", "findings", "checkpoints", "setup", "environment"} <= page.ids


def test_the_verdict_is_the_first_error(journal):
    path = journal(
        losses=CALM,
        findings=[
            finding(code="PM900", name="other", severity=Severity.WARNING, step=1, message="a habit"),
            finding(step=7, message="the loss is NaN from here on"),
        ],
    )
    told, page, text = both(path)
    assert told.verdict.sentence == "This run is broken from step 7 on: the loss is NaN from here on."
    assert [each.finding.severity.value for each in told.findings] == ["error", "warning"]
    assert "1 error, 1 warning" in page.text
    assert "### error PM442 non-finite-training" in text


def test_a_mistake_of_the_loop_did_not_begin_where_it_showed(journal):
    found = finding(
        code="PM302",
        name="trained-in-eval-mode",
        family="eval-mode",
        step=7,
        message="`m` is trained in eval mode",
    )
    assert story.read(journal(losses=CALM, findings=[found])).verdict.sentence == (
        "This run is broken: `m` is trained in eval mode."
    )


def test_nan_and_infinity_in_every_series_are_shown_as_such(journal):
    printed = [
        LogLine(step=step, text="", template="", values=(("val_loss", "", value),))
        for step, value in enumerate([1.0, math.nan, math.inf, -math.inf, 2.0], start=1)
    ]
    path = journal(losses=[1.0, math.nan, math.inf, -math.inf, 2.0, math.nan], events=printed)
    told, page, text = both(path)
    loss, metric = told.curves["loss"][""], told.metrics["val_loss"]
    assert [(gap.first, gap.last, gap.what) for gap in loss.gaps] == [(2, 4, "nan, inf, -inf"), (6, 6, "nan")]
    assert [(gap.first, gap.last) for gap in metric.gaps] == [(2, 4)]
    assert "NaN, inf, -inf at steps 2 to 4; NaN at step 6" in text
    assert "NaN, inf, -inf" in json.dumps(page.plots["timeline"])


def test_a_run_without_a_single_step(journal):
    told, page, text = both(
        journal(meta={"reason": "crashed", "error": "ImportError", "message": "no such thing"})
    )
    assert (
        told.verdict.sentence
        == "No training step was made: the script ended with `ImportError` before the first."
    )
    assert "timeline" not in page.ids
    assert page.scripts == [], "without plots there is nothing to run"
    assert "It crashed with `ImportError`: no such thing." in text


def test_nothing_of_a_run_is_markup(journal):
    hostile = finding(
        name=EVIL,
        message=EVIL,
        cause=EVIL,
        remedy=EVIL,
        where=Where(EVIL, 3, EVIL, EVIL),
        evidence={EVIL: [EVIL, {EVIL: math.nan}]},
    )
    line = LogLine(step=2, text=EVIL, template=EVIL, values=((EVIL, "1", 1.0),))
    path = journal(
        losses=CALM,
        findings=[hostile],
        events=[line, line],
        meta={"argv": [EVIL], "cwd": EVIL, "error": EVIL},
    )
    told, page, text = both(path)
    assert "<script>alert(1)</script><img src=x onerror=alert(2)>" in page.text
    assert "img" not in page.tags
    assert len(page.scripts) == 3, "data, the plotting library and the page's own"
    assert "<script>" not in page.scripts[0]
    assert EVIL in json.dumps(page.plots, ensure_ascii=False), "as data it is whole"
    assert markup_in(text) == []
    compared = comparison.compare(path, path)
    assert "img" not in Page(html.comparison_page(compared)).tags
    assert told.verdict.tone == "bad"


def test_a_journal_of_the_first_format(tmp_path):
    old = sqlite3.connect(tmp_path / schema.FILE)
    old.executescript(FORMAT_1)
    old.execute(f"PRAGMA application_id={schema.APPLICATION}")
    old.execute("PRAGMA user_version=1")
    meta = {"argv": ["train.py"], "reason": "finished", "steps": 3}
    old.executemany(
        "INSERT INTO meta VALUES (?, ?)", [(key, json.dumps(value)) for key, value in meta.items()]
    )
    old.executemany(
        "INSERT INTO steps VALUES (?, 1, ?, ?, 1.0, 0.1)", [(n, float(n), 1.0 / n) for n in range(1, 4)]
    )
    record = json.dumps(finding().to_json())
    old.execute("INSERT INTO findings VALUES (NULL, 0.0, 3, 'PM442', ?)", (record,))
    old.commit()
    old.close()
    told, page, _text = both(tmp_path / schema.FILE)
    assert "series" not in FORMAT_1
    assert told.curves["loss"][""].y == [1.0, 0.5, 1.0 / 3]
    assert (told.heats, told.metrics, told.memory) == ([], {}, {})
    assert "The loss is NaN." in page.text


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_half_a_journal_is_one_sentence(journal, share):
    path = journal(losses=CALM * 300, findings=[finding(evidence={"text": "x" * 50_000})])
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(JournalError, match=r"^the journal .* is damaged \(.*\)$"):
        story.read(path)


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1), junk=st.binary(min_size=1, max_size=64), cut=st.booleans())
def test_damage_anywhere_is_a_clear_sentence_or_no_matter(whole, tmp_path, at, junk, cut):
    place = int(at * len(whole))
    (tmp_path / schema.FILE).write_bytes(whole[:place] + (b"" if cut else junk + whole[place + len(junk) :]))
    with suppress(JournalError):
        markdown.page(story.read(tmp_path / schema.FILE))


@pytest.mark.parametrize("record", ['{"links": []}', "[]", '{"step": 1, "links": [{}]}', '"x"', "3"])
def test_records_that_are_not_what_they_were(journal, record):
    path = journal(losses=CALM)
    connection = sqlite3.connect(path)
    connection.execute("INSERT OR REPLACE INTO latest VALUES ('custody 1', 1, ?)", (record,))
    connection.commit()
    connection.close()
    with pytest.raises(JournalError, match=r"^the journal .* is damaged \((Key|Type)Error"):
        story.read(path)


def test_a_million_findings(journal):
    path = journal(losses=CALM, findings=[finding()])
    connection = sqlite3.connect(path)
    record = json.dumps(finding(message="one of very many").to_json())
    connection.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) "
        "INSERT INTO findings SELECT NULL, 0.0, 3, 'PM442', ? FROM n",
        (record,),
    )
    connection.commit()
    connection.close()
    began = time.process_time()
    told, page, text = both(path)
    assert time.process_time() - began < 20
    assert 1 <= len(told.findings) <= 12
    assert [each.others for each in told.findings if each.others] == [1_000_001 - 12]
    assert "999,989 more of PM442 are in the journal" in page.text
    assert len(text) < 50_000


def test_a_report_while_the_run_writes(tmp_path):
    opened = Journal.open(
        tmp_path, meta={"argv": ["t.py"], "reason": "running", "pid": 1}, on_problem=pytest.fail
    )
    done = threading.Event()

    def train():
        step = 0
        while not done.is_set():
            step += 1
            stats = StepStats(step=step, optimizer=1, loss=1.0 / step, grad_norm=1.0, worst=None, lr=0.1)
            opened.step(stats, time.time())
            time.sleep(0.0005)

    thread = threading.Thread(target=train)
    thread.start()
    try:
        seen = []
        while len(seen) < 4:
            time.sleep(0.4)
            told = story.read(opened.path)
            Page(html.page(told))
            seen.append(told.steps)
    finally:
        done.set()
        thread.join()
        opened.close()
    assert seen == sorted(seen)
    assert seen[-1] > seen[0] > 0
    assert told.verdict.ending.startswith("It is still running")


def test_a_run_that_was_killed(journal):
    began = {
        "started": "1970-01-01T00:16:00+00:00",
        "seconds": 0.0,
    }  # as written then; the first step came 41 s later
    told = story.read(journal(losses=CALM, meta={"reason": "running", "pid": 2**22 + 1, **began}))
    assert told.meta["seconds"] == 40.0 + len(CALM)
    assert told.verdict.ending == "It ended without a word: killed, or the machine went down."


def test_a_hundred_thousand_steps_fit_in_two_megabytes_and_keep_their_spike(journal):
    path = journal(losses=[1.0], findings=[finding(code=f"PM4{n:02}", step=50_000) for n in range(40)])
    connection = sqlite3.connect(path)
    rows = (
        (
            step,
            1 + step % 2,
            float(step),
            77.0 if step == 61_803 else 1.0 + math.sin(step),
            1.0 + math.cos(step),
            1.0 / step,
        )
        for step in range(1, 100_001)
    )
    connection.executemany("INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?)", rows)
    numbers = ((n, float(n), f"val_loss{n % 8}", math.sin(n)) for n in range(40_000))
    connection.executemany("INSERT INTO series VALUES (?, ?, ?, ?)", numbers)
    layers = json.dumps({f"model.blocks.{n}.attention.projection": 0.001 * n for n in range(96)})
    audits = [(n, what, layers) for n in range(250) for what in ("gradient", "ratio", "dead")]
    connection.executemany("INSERT INTO layers VALUES (?, ?, ?)", audits)
    connection.commit()
    connection.close()
    told = story.read(path)
    page = html.page(told)
    assert len(page.encode()) < 2_000_000
    assert told.curves["loss"]["optimizer 2"].high == 77.0
    assert told.steps == 100_000


def test_the_line_is_shown_as_it_was_and_not_as_it_is(journal, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import torch\nx = 1\ny = torch.log(x)\nz = 2\n")
    path = journal(losses=CALM, findings=[finding(where=Where(str(script), 3))])
    script.write_text("# rewritten since\n" * 20)
    told, page, text = both(path)
    assert [(line.number, line.text) for line in told.findings[0].code if line.blamed] == [
        (3, "y = torch.log(x)")
    ]
    assert "y = torch.log(x)" in page.text
    assert "> 3 | y = torch.log(x)" in text


def test_a_remedy_that_lint_can_make_is_a_diff(journal, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "from torch import nn\n\n\ndef criterion(output, target):\n    return nn.MSELoss(output, target)\n"
    )
    told, page, text = both(journal(losses=CALM, findings=[finding(where=Where(str(script), 5))]))
    assert "+    return nn.MSELoss()(output, target)\n" in told.findings[0].patch
    assert "```diff" in text
    assert "nn.MSELoss()(output, target)" in page.text


def test_two_runs_part_at_the_first_different_bit(journal, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("lr = 0.1\n")
    where = Where(str(script), 1)
    one = journal(
        "a", losses=[*CALM, 1.0], findings=[finding(where=where)], meta={"argv": ["train.py", "--lr", "0.1"]}
    )
    script.write_text("lr = 0.2\n")
    other = journal(
        "b",
        losses=[*CALM, math.nextafter(1.0, 2.0)],
        findings=[finding(where=where)],
        meta={"argv": ["train.py", "--lr=0.2"]},
    )
    found = comparison.compare(one, other)
    assert found.sentence == "The two runs part at step 11: the loss is 1.0 and 1.0000000000000002."
    assert found.common == 10
    assert found.differences["Command"] == [("--lr", "0.1", "0.2")]
    assert found.patches["train.py"].splitlines()[-2:] == ["-lr = 0.1", "+lr = 0.2"]
    page = Page(html.comparison_page(found))
    assert found.sentence in page.text
    assert "timeline" in page.plots
    assert found.sentence in markdown.comparison_page(found)


def test_two_runs_that_are_the_same(journal):
    one, other = journal("a", losses=[*CALM, math.nan]), journal("b", losses=[*CALM, math.nan])
    found = comparison.compare(one, other)
    assert found.sentence == "The two runs are the same to the last bit in 11 steps."


def test_runs_that_were_kept_at_other_steps_are_compared_where_both_were(journal):
    one, other = journal("a", losses=CALM * 300), journal("b", losses=CALM * 300)
    for path, remainder in ((one, 1), (other, 2)):
        connection = sqlite3.connect(path)
        connection.execute("DELETE FROM steps WHERE step > 1500 AND step % 3 = ?", (remainder,))
        connection.execute("UPDATE steps SET loss = ? WHERE step >= 2400", (float(remainder),))
        connection.commit()
        connection.close()
    found = comparison.compare(one, other)
    assert found.parting is not None
    assert found.parting.step == 2400
    assert found.common == 1500 + 300 - 1


def test_sites_of_events_do_not_break_a_page(journal):
    line = LogLine(step=1, at=Site("train.py", 1), text="", template="", values=(("acc", "1", 1.0),))
    _told, page, _text = both(journal(losses=CALM, events=[line]))
    assert page.outside == []
