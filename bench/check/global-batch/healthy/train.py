import json

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

hp = json.load(open("hparams.json"))
torch.manual_seed(hp["seed"])
tokens = torch.randint(0, 50, (256, 12))
target = tokens.sum(1) % 2
loader = DataLoader(
    TensorDataset(tokens, target), batch_size=hp["per_device_batch_size"], shuffle=True, drop_last=True
)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(50, 32)
        self.mlp = nn.Sequential(nn.Linear(32 * 12, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, t):
        return self.mlp(self.emb(t).flatten(1))


model = Model()
# linear scaling rule, the base rate is for a batch of 64
opt = torch.optim.SGD(model.parameters(), lr=hp["base_lr"] * hp["global_batch_size"] / 64, momentum=0.9)
accum = hp["gradient_accumulation_steps"]
for epoch in range(hp["epochs"]):
    opt.zero_grad()
    for i, (t, y) in enumerate(loader, 1):
        loss = nn.functional.cross_entropy(model(t), y)
        (loss / accum).backward()
        if i % accum == 0:
            opt.step()
            opt.zero_grad()
    print("epoch", epoch, "loss", loss.item())
    torch.save({"model": model.state_dict(), "opt": opt.state_dict()}, "parity.pt")
