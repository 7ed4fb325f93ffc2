"""Pages of verbs, as a pipe gets them."""

import io

from rich.table import Table

from premortem.terminal.pages import terminal


def printed(stream, **options):
    made = Table(box=None, show_header=False)
    made.add_row("weights", "1.5 GiB", "a remark")
    made.add_row("a longer name", "2 KiB", "")
    terminal(stream, **options).print(made)
    return stream


def test_nothing_ends_with_spaces_in_a_pipe():
    lines = printed(io.StringIO()).getvalue().split("\n")
    assert [line for line in lines if line != line.rstrip()] == []
    assert lines[0].split() == ["weights", "1.5", "GiB", "a", "remark"]


def test_a_pipe_is_wide_enough_for_names():
    assert terminal(io.StringIO()).width == 140
    assert terminal(io.StringIO(), width=60).width == 60
