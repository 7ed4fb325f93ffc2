# best starts at infinity, patience, scheduler on the validation loss
import copy
import torch
from torch import nn

torch.manual_seed(7)
X = torch.randn(700, 8)
Y = torch.sin(X[:, :1]) + 0.1 * torch.randn(700, 1)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=2)
best, best_state, bad = float("inf"), None, 0
for epoch in range(12):
    model.train()
    order = torch.randperm(600)
    for idx in order.split(50):
        loss = nn.functional.mse_loss(model(X[idx]), Y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(X[600:]), Y[600:]).item()
    sched.step(val)
    if val < best:
        best, best_state, bad = val, copy.deepcopy(model.state_dict()), 0
    else:
        bad += 1
    print(epoch, f"val {val:.4f} best {best:.4f}")
model.load_state_dict(best_state)
