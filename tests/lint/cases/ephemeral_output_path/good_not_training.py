import tempfile

import torch


def size_on_disk(model, os):
    torch.save(model.state_dict(), "/tmp/size.pt")
    return os.path.getsize("/tmp/size.pt")


def test_round_trip(model):
    with tempfile.TemporaryDirectory() as folder:
        torch.save(model.state_dict(), f"{folder}/m.pt")
        model.load_state_dict(torch.load(f"{folder}/m.pt", weights_only=True))
