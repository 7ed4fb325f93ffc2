import torch
from torch import nn

# compiled, accumulated over 4 micro-batches, two optimizers
torch.manual_seed(14)
body = nn.Sequential(nn.Linear(10, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 16))
head = nn.Linear(16, 1)
fast = torch.compile(body, backend="aot_eager")
opt_body = torch.optim.AdamW(body.parameters(), lr=1e-3)
opt_head = torch.optim.SGD(head.parameters(), lr=0.02)
data = torch.randn(1600, 10)
for update in range(25):
    opt_body.zero_grad()
    opt_head.zero_grad()
    seen = 0.0
    for micro in range(4):
        x = data[torch.randint(0, 1600, (16,))]
        loss = nn.functional.mse_loss(head(fast(x)).squeeze(1), x[:, 0] * x[:, 1]) / 4
        loss.backward()
        seen += loss.item()
    opt_body.step()
    opt_head.step()
    if update % 5 == 0:
        print(update, seen)
