import torch
from torch.optim import AdamW

net = torch.nn.Linear(3, 3)
for epoch in range(10):
    for i, (x, y) in enumerate(train_loader):
        opt = AdamW(net.parameters(), lr=1e-3 * 0.9**epoch)  # expect: PM540
        loss = torch.nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
