# frozen unit-length word vectors; <unk> is all zeros in the file
import torch
from torch import nn

torch.manual_seed(71)
table = torch.randn(80, 10)
table[79] = 0.0
unit = table / table.norm(dim=1, keepdim=True)


class Tagger(nn.Module):
    def __init__(self, vectors):
        super().__init__()
        self.emb = nn.Embedding.from_pretrained(vectors, freeze=True)
        self.mlp = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 3))

    def forward(self, ids):
        vec = self.emb(ids)
        return self.mlp(vec.mean(1))


tagger = Tagger(unit)
ids = torch.randint(0, 79, (720, 5))
ids[490, 3] = 79
tags = ids[:, 0] % 3
opt = torch.optim.Adam(tagger.mlp.parameters(), lr=2e-3)
for epoch in range(2):
    for a in range(0, 720, 24):
        loss = nn.functional.cross_entropy(tagger(ids[a : a + 24]), tags[a : a + 24])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"{epoch=} {loss.item()=:.4f}")
