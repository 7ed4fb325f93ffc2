import torch
from torch import nn

torch.manual_seed(6)
vocab, B, T = 40, 8, 12
tokens = torch.randint(1, vocab, (96, T))
tokens[50] = 0
emb = nn.Embedding(vocab, 16, padding_idx=0)
head = nn.Linear(16, 3)
labels = torch.randint(0, 3, (96,))
opt = torch.optim.Adam([*emb.parameters(), *head.parameters()], lr=1e-3)


def pooled(ids):
    mask = (ids != 0).float().unsqueeze(-1)
    return (emb(ids) * mask).sum(1) / mask.sum(1)


for i in range(0, 96, B):
    out = head(pooled(tokens[i : i + B]))
    loss = nn.functional.cross_entropy(out, labels[i : i + B])
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i // B, loss.item())
