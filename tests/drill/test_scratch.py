"""Where folders for temporary files lie in the script's own."""

from premortem.proof.overlay import spread


def test_the_scratch_folder_is_not_spread_into_itself(tmp_path):
    (tmp_path / "train.py").write_text("")
    scratch = tmp_path / "premortem-drill-1" / "alone"
    scratch.mkdir(parents=True)
    spread(tmp_path, scratch / "work")
    assert [path.name for path in (scratch / "work").iterdir()] == ["train.py"]
