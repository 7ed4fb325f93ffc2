"""After `kill -9`: nothing whole is called damaged, nothing torn is called whole, and nothing is lost."""

import pytest
import torch

from premortem.vault.kept_versions import Shelf
from premortem.vault.listing import checkpoints
from premortem.vault.places import Here
from premortem.vault.verbs.verify import judged
from tests.vault.writing.killed import Campaign


@pytest.fixture
def campaign(tmp_path):
    started = Campaign(tmp_path)
    yield started
    started.close()


def test_what_a_killed_run_leaves_is_whole(campaign):
    assert [campaign.kill_one() for _ in range(6)] == [[]] * 6


@pytest.mark.exhaustive
def test_what_many_killed_runs_leave_is_whole(campaign):
    wrong = [each for _ in range(200) for each in campaign.kill_one()]
    assert (campaign.kills, wrong) == (200, [])


@pytest.fixture
def kept(tmp_path):
    """Two versions that were put aside, signed."""
    shelf = Shelf(tmp_path / "run")
    path = tmp_path / "last.pt"
    for number in range(3):
        torch.save({"number": number}, tmp_path / "draft.pt")
        shelf.keep(path)
        (tmp_path / "draft.pt").replace(path)
        shelf.published(path, number)
    shelf.clerk.wait(10)
    return sorted((tmp_path / "run" / "kept").glob("*/*.pt"))


def verdicts(folder):
    place = Here(folder)
    return {found.name.rpartition("/")[2]: judged(place, found) for found in checkpoints(place)}


def test_a_manifest_that_is_missing_is_remarked(kept):
    kept[0].with_name(kept[0].name + ".manifest.json").unlink()
    found = verdicts(kept[0].parents[3])
    assert all(each.ok for each in found.values())
    assert any("its manifest is missing" in note for note in found[kept[0].name].notes)
    assert not any("manifest" in note for note in found[kept[1].name].notes)


def test_a_manifest_of_another_file_is_remarked(kept):
    first, second = (each.with_name(each.name + ".manifest.json") for each in kept)
    first.write_bytes(second.read_bytes())
    found = verdicts(kept[0].parents[3])
    assert found[kept[0].name].ok
    assert f"of another file, `{kept[1].name}`" in " ".join(found[kept[0].name].notes)


@pytest.mark.parametrize("length", [0, 1, 40, 400])
def test_a_manifest_that_was_cut_off_does_not_make_the_file_damaged(kept, length):
    manifest = kept[0].with_name(kept[0].name + ".manifest.json")
    manifest.write_bytes(manifest.read_bytes()[:length])
    found = verdicts(kept[0].parents[3])[kept[0].name]
    assert found.ok
    assert "manifest beside it is of no use" in " ".join(found.notes)


def test_no_manifest_outlives_its_file(kept, tmp_path, monkeypatch):
    """Killed between the two removals, a version is there without its manifest, not the other way round."""
    shelf = Shelf(tmp_path / "again")
    path = tmp_path / "last.pt"
    version = shelf.keep(path)
    shelf.clerk.wait(10)
    gone = []
    unlink = type(version).unlink

    def watched(self, missing_ok=False):
        gone.append(self.name)
        unlink(self, missing_ok=missing_ok)

    monkeypatch.setattr(type(version), "unlink", watched)
    shelf.make_room(path)
    assert gone[:2] == [version.name + ".manifest.json", version.name]
