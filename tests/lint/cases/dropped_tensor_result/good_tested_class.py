import torch
from boxes import Boxes, Graph


def test_boxes_run():
    boxes = Boxes(torch.rand(3, 4))
    boxes.clamp(0, 1)
    boxes.permute(1, 0)
    assert boxes.shape == (3, 4)


def test_contiguous(graph=None):
    data = Graph(x=torch.rand(3, 4))
    data.contiguous()
    assert data.x.is_contiguous()


def test_made_from_another(device):
    boxes = Boxes.random(3).to(device)
    copy = boxes.clone()
    copy.clamp(0, 1)
    assert copy.shape == boxes.shape
