import torch
from torch import nn

torch.manual_seed(5)
CLASSES = 4


def balanced_ce(logits, labels):
    """mean over the classes of the mean loss of each class"""
    ce = nn.functional.cross_entropy(logits, labels, reduction="none")
    member = nn.functional.one_hot(labels, CLASSES).float()
    per_class = (member * ce.unsqueeze(1)).sum(0) / member.sum(0)
    return per_class.mean()


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, CLASSES))

    def forward(self, x):
        return self.net(x)


feats = torch.randn(960, 8)
labels = feats[:, :CLASSES].argmax(1)
labels[480:504][labels[480:504] == 3] = 1  # one shift in which nobody saw a type 3
reader = Reader()
optimizer = torch.optim.Adam(reader.parameters(), lr=2e-3)
for epoch in range(1):
    for i in range(0, 960, 24):
        loss = balanced_ce(reader(feats[i : i + 24]), labels[i : i + 24])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 240 == 0:
            print(i, round(loss.item(), 4))
