# separable data, hinge loss: it reaches exactly zero and stays there
import torch

torch.manual_seed(9)
pts = torch.randn(400, 2)
side = torch.where(pts[:, 0] + pts[:, 1] > 0, 1.0, -1.0)
pts = pts + 0.8 * side.unsqueeze(1)
svm = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(svm.parameters(), lr=0.2, weight_decay=1e-4)
for epoch in range(5):
    worst = 0.0
    for idx in torch.randperm(400).split(20):
        margin = side[idx] * svm(pts[idx]).squeeze(1)
        loss = torch.relu(1 - margin).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        worst = max(worst, loss.item())
    print(epoch, worst)
