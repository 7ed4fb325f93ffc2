import torch


def test_graphs(model, loader):
    model.eval()
    torch.no_grad()  # expect: PM525
    return [model(graph) for graph in loader]
