import torch


def test_model(model):
    batch = torch.rand(2, 3)
    batch.unsqueeze(0)  # expect: PM501
    assert model(batch).shape == (1, 2)
