"""What a script prepares with torch.save is there in a rehearsal, also under another name; what it trains is not written."""

import torch
from torch import nn

from premortem.fit.saving import cover_saving, leave_files
from premortem.points import Subscriptions


def test_prepared_data_is_written_and_weights_are_not(tmp_path):
    points = Subscriptions()
    try:
        cover_saving(points)
        leave_files(points)
        (tmp_path / "draft").mkdir()
        torch.save({"x": torch.arange(6.0), "name": "clip"}, tmp_path / "draft" / "0.pt")
        torch.save(nn.Linear(4, 1).state_dict(keep_vars=True), tmp_path / "draft" / "model.pt")
        (tmp_path / "draft").rename(tmp_path / "data")
        found = torch.load(tmp_path / "data" / "0.pt")
    finally:
        points.end()
    assert found["x"].tolist() == [0, 1, 2, 3, 4, 5]
    assert found["name"] == "clip"
    assert (tmp_path / "data" / "model.pt").stat().st_size == 0
