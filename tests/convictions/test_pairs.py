"""One cause, one finding: reports of lint beside findings of the run."""

from premortem import detectors
from premortem.convictions.pairs import is_same, joined, proved
from premortem.events import Suspicion
from premortem.findings import Certainty, Finding, Patch, Severity, Where
from premortem.lint import rules

LINT = {rule.card.code: rule.card for rule in rules.ALL}
RUN = {unit.card.name: unit.card for unit in detectors.ALL}


def told(name, file="/p/train.py", line=40, card=None, certainty=Certainty.MEASURED):
    card = card or RUN[name]
    return Finding(
        code=card.code, name=card.name, family=card.family, severity=card.severity, certainty=certainty, step=3,
        message="it happened", where=Where(file, line),
    )  # fmt: skip


def suspected(code, file="/p/train.py", line=12):
    return Suspicion(LINT[code], file, line, line, "x", "it stands there")


def test_a_finding_moves_to_the_line_that_was_read_and_is_proved():
    finding = proved(told("gradients-never-cleared"), [suspected("PM533"), suspected("PM533", line=900)])
    assert finding.certainty is Certainty.PROVED
    assert finding.where.line == 12
    assert finding.code == RUN["gradients-never-cleared"].code
    assert finding.evidence == {"read": "PM533", "seen_at": "train.py:40"}


def test_a_report_about_another_mistake_or_another_file_proves_nothing():
    finding = told("gradients-never-cleared")
    assert proved(finding, [suspected("PM517")]) is finding
    assert proved(finding, [suspected("PM533", file="/p/other.py")]) is finding


def test_what_is_certain_is_an_error_unless_the_run_is_not_broken_by_it():
    assert RUN["optimizer-rebuilt-every-step"].severity is Severity.WARNING
    assert proved(told("optimizer-rebuilt-every-step"), [suspected("PM540")]).severity is Severity.ERROR
    assert proved(told("evaluated-with-gradients"), [suspected("PM536")]).severity is Severity.INFO


def test_a_second_sighting_of_what_is_proved_says_nothing_new():
    known = proved(told("gradients-never-cleared"), [suspected("PM533")])
    assert is_same(known, told("gradients-never-cleared", line=77))
    assert not is_same(known, told("gradients-never-cleared", file="/p/other.py"))
    assert not is_same(known, told("step-never-called"))


def test_check_shows_one_finding_for_a_report_and_what_the_rehearsal_saw():
    report = told("", card=LINT["PM533"], line=12, file="train.py", certainty=Certainty.SUSPECTED)
    other = told("", card=LINT["PM517"], line=30, file="train.py", certainty=Certainty.SUSPECTED)
    code, rehearsal = joined([[report, other], [told("gradients-never-cleared")]], LINT)
    assert code == [other]
    (finding,) = rehearsal
    assert (finding.name, finding.where.line) == ("gradients-never-cleared", 12)
    assert finding.certainty is Certainty.PROVED


PATCH = Patch("--- train.py\n+++ train.py\n@@ -1 +1 @@\n-a\n+b\n", "how")


def test_the_fix_of_a_report_goes_with_the_finding_that_it_proves():
    one = suspected("PM533")._replace(patch=PATCH)
    assert proved(told("gradients-never-cleared"), [one]).patch == PATCH
    report = told("", card=LINT["PM533"], line=12, file="train.py", certainty=Certainty.SUSPECTED)
    _code, (finding,) = joined([[report.with_patch(PATCH)], [told("gradients-never-cleared")]], LINT)
    assert finding.patch == PATCH


def test_where_the_operation_itself_is_to_blame_the_fix_of_who_hides_it_is_not_shown():
    seen = told("masked-non-finite", certainty=Certainty.PROVED).with_evidence(op="log")
    assert proved(seen, [suspected("PM503")._replace(patch=PATCH)]).patch is None


def test_a_comment_silences_a_finding_also_where_it_moves_to(tmp_path):
    from premortem.run.found_so_far import FoundSoFar
    from premortem.settings import Silence

    script = tmp_path / "train.py"
    script.write_text("first()\nloss.backward()  # premortem: ignore[PM122]\n")
    for ahead in (True, False):  # the files are read before it is found, or after
        found = FoundSoFar({}, Silence())
        suspicions = (suspected("PM533", file=str(script), line=2),)
        if ahead:
            found.read(suspicions)
        found.add(told("gradients-never-cleared", file=str(script), line=1))
        if not ahead:
            assert len(found.shown) == 1
            found.read(suspicions)
        assert (found.shown, found.silenced) == ([], 1)
