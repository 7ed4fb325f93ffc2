import torch
from module import BaselineModel


def predict(path, test_loader):
    model = BaselineModel.load_from_checkpoint(path)
    model.eval()
    model.freeze()
    return [model(batch).argmax(1) for batch in test_loader]


def run(path, test_loader, found):
    model = BaselineModel.load_from_checkpoint(path)
    model.eval()
    model.freeze()
    for batch in test_loader:
        found.append(model(batch).argmax(1))
