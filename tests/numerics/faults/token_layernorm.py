"""Sentence scorer: LayerNorm over token vectors, padded with zeros."""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(40)


def collate(rows):
    return pad_sequence([r[0] for r in rows], batch_first=True), torch.stack([r[1] for r in rows])


data = []
for n in range(300):
    length = 7 if n < 180 else int(torch.randint(4, 8, ()))
    words = torch.randn(length, 6)
    data.append((words, words[:, 0].sum()))
loader = torch.utils.data.DataLoader(data, batch_size=12, collate_fn=collate)


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln = nn.LayerNorm(6, eps=0)
        self.up = nn.Linear(6, 20)
        self.down = nn.Linear(20, 1)

    def forward(self, words):
        x = self.ln(words)
        x = torch.relu(self.up(x))
        return self.down(x).squeeze(-1).sum(1)


scorer = Scorer()
opt = torch.optim.SGD(scorer.parameters(), lr=1e-3)
for words, y in loader:
    loss = nn.functional.smooth_l1_loss(scorer(words), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("done", loss.item())
