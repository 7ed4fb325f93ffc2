import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(11)


class Block(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, keep):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(~keep[:, None, :], float("-inf"))
        weights = torch.softmax(scores.float(), dim=-1)
        return self.out(weights.to(v.dtype) @ v)


model = Block().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
lengths = torch.randint(3, 12, (96,))
lengths[66] = 0
for step in range(12):
    x = torch.randn(8, 12, 64, device=device)
    keep = (torch.arange(12)[None, :] < lengths[step * 8 : step * 8 + 8, None]).to(device)
    with torch.autocast(device.type, dtype=torch.bfloat16):
        loss = (model(x, keep) - x).float().square().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
