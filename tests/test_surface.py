"""What others rely on does not change by accident."""

import premortem
from premortem.run import command

import surface


def test_the_public_surface_is_the_recorded_one():
    recorded = surface.RECORD.read_text(encoding="utf-8")
    assert surface.surface() == recorded, "if this change is meant: make surface"


def test_a_new_option_would_be_noticed(monkeypatch):
    before = surface.surface()
    plain = command.parser

    def parser():
        grown = plain()
        grown.add_argument("--new-option")
        return grown

    monkeypatch.setattr(command, "parser", parser)
    assert surface.surface() != before
    assert "--new-option" in surface.surface()


def test_every_public_name_exists():
    assert [name for name in premortem.__all__ if not hasattr(premortem, name)] == []
