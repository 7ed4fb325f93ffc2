import torch


def test_the_context():
    torch.no_grad()


def test_with_a_check(model):
    torch.no_grad()
    assert model(1)
