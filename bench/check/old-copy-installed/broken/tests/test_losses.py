from segkit.losses import dice_loss


def test_perfect():
    import torch

    mask = torch.ones(1, 1, 4, 4)
    assert dice_loss(mask * 50, mask) < 0.01
