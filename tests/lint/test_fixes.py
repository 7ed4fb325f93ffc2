"""Fixes: bottom up, never overlapping, and never a file that does not parse."""

import json

import pytest

from premortem.findings import Severity
from premortem.lint import fixes
from premortem.lint.cache import hash_of
from premortem.lint.diagnostics import Diagnostic, Edit, Fix
from premortem.lint.problems import UnreadableFile


def report(*edits, safe=True, path="x.py"):
    return Diagnostic(
        path=path,
        line=1,
        column=1,
        end_line=1,
        end_column=1,
        card=UnreadableFile.card,
        message="",
        severity=Severity.ERROR,
        fix=Fix(tuple(Edit(*edit) for edit in edits), safe),
    )


def test_edits_do_not_move_each_other():
    reports = [report((0, 1, "first")), report((4, 5, "second"))]
    assert fixes.apply(b"a = b", reports) == fixes.Fixed(b"first = second", 2)


def test_of_two_that_overlap_the_first_is_made():
    reports = [report((4, 9, "x")), report((6, 7, "y")), report((0, 1, "z"))]
    assert fixes.apply(b"a = 12345", reports) == fixes.Fixed(b"z = x", 2)


def test_two_insertions_at_one_place_overlap():
    reports = [report((0, 0, "a = ")), report((0, 0, "b = "))]
    assert fixes.apply(b"x", reports) == fixes.Fixed(b"a = x", 1)


def test_the_same_fix_of_two_reports_is_made_once():
    assert fixes.apply(b"x", [report((0, 0, "a = ")), report((0, 0, "a = "))]).data == b"a = x"


def test_a_fix_is_made_whole_or_not_at_all():
    reports = [report((0, 1, "a")), report((0, 1, "b"), (4, 5, "b"))]
    assert fixes.apply(b"x = y", reports).data == b"a = y"


def test_unsafe_fixes_must_be_asked_for():
    assert fixes.apply(b"x", [report((0, 1, "y"), safe=False)]) == fixes.Fixed(b"x", 0)
    assert fixes.apply(b"x", [report((0, 1, "y"), safe=False)], unsafe=True) == fixes.Fixed(b"y", 1)


def test_a_fix_that_breaks_the_file_is_left_out_and_the_others_are_made():
    reports = [report((0, 1, "y")), report((4, 5, "((")), report((6, 7, "z"))]
    assert fixes.fixed("x.py", b"x = 1\nx\n", reports) == fixes.Fixed(b"y = 1\nz\n", 2)


@pytest.mark.parametrize("data", ["# coding: latin-1\né = 1\n".encode("latin-1"), "é = 1\n".encode()])
def test_the_encoding_of_the_file_stays(data):
    start = data.rindex(b"1\n") + (1 if b"latin" in data else 0)  # in UTF-8 the letter has two bytes
    mended = fixes.fixed("x.py", data, [report((start, start + 1, "2"))])
    assert mended.data == data.replace(b"= 1", b"= 2")


def test_line_ends_and_the_mark_of_utf8_stay():
    data = b"\xef\xbb\xbfx = 1\r\ny = 2\r\n"
    assert fixes.fixed("x.py", data, [report((7, 8, "3"))]).data == b"\xef\xbb\xbfx = 3\r\ny = 2\r\n"


def notebook(*cells, indent=1):
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in cells]
    return json.dumps({"cells": cells, "nbformat": 4}, indent=indent, ensure_ascii=False).encode() + b"\n"


@pytest.mark.parametrize("indent", [1, 4, None])
def test_a_notebook_changes_only_in_the_edited_cell(indent):
    before = notebook(["%matplotlib inline\n", "é = 1"], "y = 2\nz = 3\n", indent=indent)
    # Joined: "0                 \né = 1\n" has 18 + 1 + 6 + 1 bytes.
    mended = fixes.fixed("n.ipynb", before, [report((26, 27, "Y"), path="n.ipynb")])
    assert mended == fixes.Fixed(
        notebook(["%matplotlib inline\n", "é = 1"], "Y = 2\nz = 3\n", indent=indent), 1
    )


def test_a_notebook_that_cannot_be_written_as_it_was_is_left_alone():
    data = notebook("x = 1\n").replace(b'"cells"', b'  "cells"')
    assert fixes.fixed("n.ipynb", data, [report((0, 1, "y"))]) == fixes.Fixed(data, 0)


def test_configs_are_read_again_too():
    reports = [report((4, 8, "1.0e-4"))]
    assert fixes.fixed("c.yaml", b"lr: 1e-4\n", reports).data == b"lr: 1.0e-4\n"
    assert fixes.fixed("c.yaml", b"lr: 1e-4\n", [report((4, 8, "{["))]).fixes == 0


def test_the_patch_is_what_would_be_written(tmp_path):
    file = tmp_path / "x.py"
    file.write_bytes(b"x = 1\ny = 2")
    contents = {str(file): hash_of(file.read_bytes())}
    patch = fixes.patch([report((10, 11, "3"), path=str(file))], contents)
    assert patch == (
        f"--- {file}\n+++ {file}\n@@ -1,2 +1,2 @@\n x = 1\n-y = 2\n\\ No newline at end of file\n"
        "+y = 3\n\\ No newline at end of file\n"
    )
    assert file.read_bytes() == b"x = 1\ny = 2"
    assert fixes.write([report((10, 11, "3"), path=str(file))], contents) == 1
    assert file.read_bytes() == b"x = 1\ny = 3"


def test_a_file_that_was_saved_in_between_is_left_alone(tmp_path):
    file = tmp_path / "x.py"
    file.write_bytes(b"yy = 1\n")
    reports = [report((0, 1, "z"), path=str(file))]
    assert fixes.write(reports, {str(file): hash_of(b"x = 1\n")}) == 0
    assert file.read_bytes() == b"yy = 1\n"
