import torch


def test_model(model):
    batch = torch.rand(2, 3)
    batch.unsqueeze(0)  # expect: PM501
    assert model(batch).shape == (1, 2)


def test_gradients(layer, device):
    q = torch.rand(2, 3).to(device).half()
    k = q.detach().clone()
    layer(q, k).sum().backward()
    q.masked_fill(q.isnan(), 0.5)  # expect: PM501
    k.masked_fill(k.isnan(), 0.5)  # expect: PM501
    assert torch.equal(q, k)
