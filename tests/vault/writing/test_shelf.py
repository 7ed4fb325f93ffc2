"""Earlier versions: kept, rotated, given up; and what must not take their place."""

import os

import pytest

from premortem.vault import kept_versions as room
from premortem.vault.atomic import sha256_of
from premortem.vault.kept_versions import Shelf
from premortem.vault.manifest import Manifest


def save(shelf, path, content, step, poisoned=()):
    """As `saving.py` does it."""
    draft = path.with_name("draft")
    draft.write_bytes(content)
    shelf.keep(path)
    draft.replace(path)
    shelf.published(path, step, poisoned)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "best.pt"


@pytest.fixture
def shelf(tmp_path):
    made = Shelf(tmp_path / "run")
    yield made
    made.clerk.wait(5)


def versions(shelf):
    return {path.name: path.read_bytes() for path in shelf.folder.glob("kept/*/*.pt")}


def test_the_newest_earlier_versions_are_kept(shelf, path):
    for step in range(5):
        save(shelf, path, b"%d" % step, step)
    assert versions(shelf) == {"000003-step-2.pt": b"2", "000004-step-3.pt": b"3"}
    assert path.read_bytes() == b"4"


def test_a_file_that_is_rewritten_in_place_is_copied(shelf, path):
    for step in range(3):
        path.write_bytes(b"%d" % step)  # as `open(path, "wb")` does: the same file, emptied first
        shelf.known[path] = step
        shelf.keep(path, copy=True)
    path.write_bytes(b"")
    assert versions(shelf) == {"000002-step-1.pt": b"1", "000003-step-2.pt": b"2"}


def test_a_version_has_a_manifest_with_its_checksum(shelf, path):
    save(shelf, path, b"one", 1)
    save(shelf, path, b"two", 2)
    shelf.clerk.wait(5)
    [version] = shelf.folder.glob("kept/*/*.pt")
    manifest = Manifest.read(version.with_name(version.name + ".manifest.json"))
    assert (manifest.step, manifest.source) == (1, str(path))
    assert manifest.files[version.name].sha256 == sha256_of(version)


def test_a_file_of_an_earlier_run_is_kept_too(shelf, path):
    path.write_bytes(b"from last week")
    save(shelf, path, b"new", 1)
    assert list(versions(shelf).values()) == [b"from last week"]


def test_versions_stay_within_the_budget(tmp_path, path):
    shelf = Shelf(tmp_path / "run", most=25)
    other = tmp_path / "other.pt"
    for step in range(4):
        save(shelf, path, b"x" * 10, step)
        save(shelf, other, b"y" * 10, step)
    assert sum(map(len, versions(shelf).values())) <= 25
    shelf.clerk.wait(5)


def test_what_is_too_large_for_the_budget_is_not_kept_and_nothing_fails(tmp_path, path):
    shelf = Shelf(tmp_path / "run", most=5)
    save(shelf, path, b"x" * 10, 1)
    save(shelf, path, b"y" * 10, 2)
    assert versions(shelf) == {}
    assert path.read_bytes() == b"y" * 10


def test_room_can_be_made(shelf, path):
    for step in range(3):
        save(shelf, path, b"%d" % step, step)
    assert shelf.make_room(path) == 2
    assert versions(shelf) == {}


def test_on_another_file_system_versions_lie_beside_the_file(shelf, path, monkeypatch):
    link = room.os.link

    def across(source, target):
        if str(shelf.folder) in str(target):
            raise OSError(18, "Invalid cross-device link")
        link(source, target)

    monkeypatch.setattr(room.os, "link", across)
    save(shelf, path, b"one", 1)
    save(shelf, path, b"two", 2)
    assert versions(shelf) == {}
    [version] = path.parent.glob(".premortem/kept/*/*.pt")
    assert version.read_bytes() == b"one"
    assert (path.parent / ".premortem" / ".gitignore").read_text() == "*\n"


def test_without_links_a_version_is_copied(shelf, path, monkeypatch):
    def never(source, target):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(room.os, "link", never)
    save(shelf, path, b"one", 1)
    save(shelf, path, b"two", 2)
    assert list(versions(shelf).values()) == [b"one"]
    assert not (path.parent / ".premortem").exists()


def test_a_poisoned_file_stands_for_the_path_until_a_good_one_comes(shelf, path):
    save(shelf, path, b"good", 1)
    draft = path.with_name("draft")
    for content in (b"bad", b"worse"):
        draft.write_bytes(content)
        place = shelf.divert(draft, path, 2, ("fc.weight",))
        assert shelf.diverted[path] == place
    assert path.read_bytes() == b"good"
    assert [each.read_bytes() for each in shelf.folder.glob("quarantine/*/*.pt")] == [b"worse"]
    save(shelf, path, b"better", 3)
    assert shelf.diverted == {}


def test_a_poisoned_first_file_is_not_kept_as_a_version(shelf, path):
    save(shelf, path, b"bad", 1, poisoned=("fc.weight",))
    assert not shelf.good_at(path)
    save(shelf, path, b"good", 2)
    assert versions(shelf) == {}
    assert shelf.good_at(path)


def test_a_run_forgets_what_ended_runs_kept_of_the_same_path(tmp_path, path, monkeypatch):
    runs = [Shelf(tmp_path / name) for name in ("one", "two", "three")]
    for number, shelf in enumerate(runs):
        for step in range(3):
            save(shelf, path, b"%d %d" % (number, step), step)
        shelf.clerk.wait(5)
    assert [len(versions(shelf)) for shelf in runs] == [2, 3, 3]  # they are all of this process, which lives
    monkeypatch.setattr(room, "owner_is_dead", lambda folder: folder.parent.name == "one")
    save(runs[1], path, b"again", 9)
    save(runs[1], path, b"and again", 10)
    assert [len(versions(shelf)) for shelf in runs] == [2, 3, 3]
    fresh = Shelf(tmp_path / "four")
    for step in range(3):
        save(fresh, path, b"x", step)
    fresh.clerk.wait(5)
    assert [len(versions(shelf)) for shelf in runs] == [0, 3, 3]


def test_what_an_earlier_run_left_stays_for_the_whole_run(shelf, path):
    path.write_bytes(b"from last week")
    for step in range(6):
        save(shelf, path, b"%d" % step, step)
    assert sorted(versions(shelf).values()) == [b"3", b"4", b"from last week"]


def test_the_budget_costs_versions_of_this_run_first(tmp_path, path):
    shelf = Shelf(tmp_path / "run", most=25)
    path.write_bytes(b"w" * 10)
    for step in range(4):
        save(shelf, path, b"%d" % step * 10, step)
    shelf.clerk.wait(5)
    assert sorted(versions(shelf).values()) == [b"2" * 10, b"w" * 10]


def test_the_newest_that_ended_runs_left_of_a_deleted_file_stays(tmp_path, path, monkeypatch):
    ended = Shelf(tmp_path / "ended")
    for step in range(3):
        save(ended, path, b"%d" % step, step)
        os.utime(path, (step, step))
    ended.clerk.wait(5)
    path.unlink()
    monkeypatch.setattr(room, "owner_is_dead", lambda folder: True)
    fresh = Shelf(tmp_path / "fresh")
    for step in range(4):
        save(fresh, path, b"new", step)
    fresh.clerk.wait(5)
    assert list(versions(ended).values()) == [b"1"]
    assert len(list(ended.folder.glob("kept/*/*.manifest.json"))) == 1
