import torch

net = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(100):
    total = 0.0
    for x, y in train_loader:
        opt.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        total += loss.item()
    opt.step()  # expect: PM552
    print(epoch, total)
