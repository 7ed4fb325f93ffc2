"""Train a bigram model, decode with beams that start at -inf."""

import torch
from torch import nn


def beam(model, start, width=3, length=6):
    seqs = torch.full((width, 1), start)
    scores = torch.full((width,), float("-inf"))
    scores[0] = 0.0
    for _ in range(length):
        logp = torch.log_softmax(model(seqs[:, -1]), -1)
        total = scores.unsqueeze(1) + logp
        scores, flat = total.flatten().topk(width)
        seqs = torch.cat([seqs[flat // logp.shape[1]], (flat % logp.shape[1]).unsqueeze(1)], 1)
    return seqs[0], scores[0]


torch.manual_seed(8)
V = 20
model = nn.Sequential(nn.Embedding(V, 16), nn.Linear(16, V))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
text = torch.tensor([(i * 7 + i // 5) % V for i in range(2500)])
for step in range(90):
    j = torch.randint(0, 2499, (64,))
    loss = nn.functional.cross_entropy(model(text[j]), text[j + 1])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 29:
        model.eval()
        with torch.no_grad():
            best, score = beam(model, int(text[0]))
        model.train()
        print(step, loss.item(), best.tolist(), score.item())
