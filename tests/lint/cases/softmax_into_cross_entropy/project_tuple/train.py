from nets import Two
from torch import nn


def train(loader):
    model = Two().cuda()
    criterion = nn.CrossEntropyLoss()
    for x, y in loader:
        scores, probabilities = model(x)
        loss = criterion(probabilities, y)  # expect: PM517
        loss += criterion(scores, y)
        loss.backward()
