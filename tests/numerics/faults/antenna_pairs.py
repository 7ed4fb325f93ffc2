# learn positions from measured distances (multidimensional scaling by SGD)
import torch

torch.manual_seed(0)
true = torch.rand(40, 2) * 10
pairs = torch.combinations(torch.arange(40))
dist = (true[pairs[:, 0]] - true[pairs[:, 1]]).norm(dim=1)
perm = torch.randperm(len(pairs))
pairs, dist = pairs[perm], dist[perm]
# somebody logged antenna 7 against itself
pairs[555] = torch.tensor([7, 7])
dist[555] = 0.0

pos = torch.nn.Parameter(torch.randn(40, 2))
opt = torch.optim.SGD([pos], lr=0.5)
B = 26
for epoch in range(3):
    running = 0.0
    for i in range(0, len(pairs), B):
        p, d = pairs[i : i + B], dist[i : i + B]
        diff = pos[p[:, 0]] - pos[p[:, 1]]
        pred = (diff * diff).sum(dim=1).sqrt()
        loss = ((pred - d) ** 2).mean() + (pred - d).abs().mean() * 0.1
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item()
    print("epoch", epoch, running)
