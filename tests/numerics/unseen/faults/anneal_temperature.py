import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(128, 10)
y = x[:, :4].argmax(1)
policy = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.AdamW(policy.parameters(), lr=3e-3)
steps = 40
for s in range(steps):
    tau = round(max(0.0, 1.0 - s / 30), 2)
    b = torch.randperm(128)[:32]
    logits = policy(x[b])
    probs = torch.log_softmax(logits / tau, dim=-1)
    loss = nn.functional.nll_loss(probs, y[b])
    loss.backward()
    opt.step()
    opt.zero_grad(set_to_none=True)
print("final", loss.item())
