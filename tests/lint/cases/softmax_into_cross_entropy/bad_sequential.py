import torch
import torch.nn as nn
import torch.nn.functional as F

net = nn.Sequential(
    nn.Linear(20, 50),
    nn.ReLU(),
    nn.Linear(50, 3),
    nn.Softmax(dim=1),
)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

for x, y in batches:
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)  # expect: PM517
    loss.backward()
    optimizer.step()


def inline(model, x, y):
    logits = model(x)
    probs = torch.softmax(logits, dim=1)
    return F.cross_entropy(probs, y)  # expect: PM517


def method(head, x, y):
    criterion = nn.CrossEntropyLoss()
    return criterion(head(x).softmax(dim=-1), y)  # expect: PM517
