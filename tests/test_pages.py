"""Documentation cannot drift: pages and tables are written from the units."""

import json
import re
from pathlib import Path

import pytest

from premortem import catalog
from tests.units import only_stand_ins

import pages

ROOT = Path(__file__).parent.parent
FINDINGS = "# All\n<!-- catalog table -->\nold\n<!-- end of catalog table -->\nthe end\n"


def test_the_pages_are_fresh():
    assert sorted(map(str, pages.stale())) == [], "run: make docs"


# Files of other programs that these pages name.
_OF_OTHERS = {"version.py", "train.py", "script.py"}


@pytest.mark.parametrize(
    "page",
    ["ARCHITECTURE.md", *(f"docs/internals/{name}.md" for name in ("before", "during", "checkpoints"))],
)
def test_every_file_that_the_map_names_is_there(page):
    there = [
        path.relative_to(ROOT).as_posix()
        for folder in ("src/premortem", "tests", "tools", "bench")
        for path in (ROOT / folder).rglob("*.py")
    ]
    named = set(re.findall(r"[\w/]+\.py\b", (ROOT / page).read_text(encoding="utf-8"))) - _OF_OTHERS
    assert [
        name for name in sorted(named) if not any(f"/{path}".endswith(f"/{name}") for path in there)
    ] == []


@pytest.fixture
def project(tmp_path, monkeypatch):
    only_stand_ins(monkeypatch)
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "findings.md").write_text(FINDINGS)
    return tmp_path


def test_the_table_lists_every_unit_between_the_marks(project):
    assert pages.wanted(project)[project / "docs/findings.md"] == (
        "# All\n"
        "<!-- catalog table -->\n"
        "| finding | what it means | severity | found by | family |\n"
        "|---|---|---|---|---|\n"
        "| [T001 sleepy-scheduler](units/sleepy-scheduler.md) | A scheduler that never steps. "
        "| warning | run | scheduler |\n"
        "| [T101 orphan-parameter](units/orphan-parameter.md) | A trainable parameter that no optimizer holds. "
        "| error | run | optimizer-ownership |\n"
        "<!-- end of catalog table -->\n"
        "the end\n"
    )


def test_a_unit_gets_a_page_and_a_page_without_unit_goes(project):
    gone = project / "docs" / "units" / "gone.md"
    gone.parent.mkdir(parents=True)
    gone.write_text("of a unit that was removed")
    for path, text in pages.stale(project).items():
        pages.write(path, text)
    assert pages.stale(project) == {}
    assert not gone.exists()
    assert (project / "docs/units/sleepy-scheduler.md").read_text() == (
        "<!-- Written by `make docs` from the unit's docstring: change it there. -->\n"
        "# T001 sleepy-scheduler\n\n"
        "*warning, scheduler, since 0.1; found by `premortem run`*\n\n"
        "A scheduler that never steps.\n"
    )


def test_checking_changes_nothing(project, monkeypatch, capsys):
    monkeypatch.setattr(pages, "stale", lambda: {project / "docs/findings.md": "new"})
    assert pages.main(["--check"]) == 1
    assert (project / "docs/findings.md").read_text() == FINDINGS
    assert capsys.readouterr().out == "stale docs/findings.md\n"


def test_a_page_without_marks_is_told(project):
    (project / "docs" / "findings.md").write_text("# All\n")
    with pytest.raises(SystemExit, match=r"docs/findings\.md needs the lines"):
        pages.wanted(project)


def test_every_page_and_every_result_that_a_slot_names_is_there():
    for slot in pages.SLOTS:
        assert (ROOT / slot.page).exists(), slot
        assert all((ROOT / "bench" / "results" / f"{name}.json").exists() for name in slot.results), slot


def test_every_family_is_of_one_kind_and_every_example_is_a_finding():
    families = [family for of_kind, _ in pages.KINDS.values() for family in of_kind.split()]
    entries = catalog.entries()
    assert {entry.card.family for entry in entries} <= set(families)
    assert len(families) == len(set(families))
    examples = {name for _, names in pages.KINDS.values() for name in names.split()}
    assert examples <= {entry.card.name for entry in entries}


def test_the_guide_of_lint_lists_its_rules(tmp_path):
    guide = tmp_path / "docs" / "lint.md"
    guide.parent.mkdir()
    guide.write_text("<!-- rules table -->\n<!-- end of rules table -->\n")
    written = pages.wanted(tmp_path)
    assert "[PM501 dropped-tensor-result](units/dropped-tensor-result.md)" in written[guide]
    assert "### With `--preview`" in written[guide]


def test_the_numbers_of_lint_come_from_its_bench(project):
    cost = {"cpu_s": 1.5, "wall_s": 1.6, "peak_mib": 40, "lines_per_cpu_s": 66667}
    result = {
        "command": "python bench/lint.py",
        "machine": "2 cores",
        "versions": {"premortem": "0.1.0"},
        "corpora": {"lightning": {"files": 3, "lines": 100000, "tools": {"premortem": cost}}},
        "warm_cache": {"wall_s": 0.4, "cpu_s": 0.4},
        "one_file": {"wall_s": 0.2, "cpu_s": 0.15},
    }
    (project / "bench" / "results").mkdir(parents=True)
    (project / "bench" / "results" / "lint.json").write_text(json.dumps(result))
    marks = ("rules table", "lint table")
    guide = "".join(f"<!-- {mark} -->\n<!-- end of {mark} -->\n" for mark in marks)
    (project / "docs" / "lint.md").write_text(guide)
    text = pages.wanted(project)[project / "docs/lint.md"]
    assert "| **lightning** | 100,000 | | | |\n| premortem | | 1.50 s | 66,667 | 40 MiB |\n" in text
    assert "warm cache: 0.40 s (0.40 s CPU). A single file: 0.20 s (0.15 s CPU)." in text


def test_the_numbers_of_the_ram_cache_come_from_its_bench(project):
    ways = {
        "page cache": {"images_per_s": 1234.5, "cpu_us_per_image": 200.2, "read_us": 99.6, "copies": -0.02},
        "RamCache": {"images_per_s": 2345.6, "cpu_us_per_image": 100.2, "read_us": 30.2, "copies": 1.04},
    }
    result = {
        "images": 1000,
        "side": 256,
        "decoded_mib": 187.5,
        "workers": 4,
        "machine": "2 cores",
        "torch": "2.13",
    }
    (project / "bench" / "results").mkdir(parents=True)
    (project / "bench" / "results" / "ram_cache.json").write_text(json.dumps({**result, "ways": ways}))
    marks = "<!-- ram cache table -->\n<!-- end of ram cache table -->\n"
    (project / "docs" / "parts.md").write_text(marks)
    text = pages.wanted(project)[project / "docs/parts.md"]
    assert (
        "| page cache | 100 µs | 200 µs | 1,234 | 0.0 |\n| RamCache | 30 µs | 100 µs | 2,346 | 1.0 |\n"
        in text
    )
    assert "1,000 PNG images of 256×256, 188 MiB decoded, 4 workers on 2 cores" in text
