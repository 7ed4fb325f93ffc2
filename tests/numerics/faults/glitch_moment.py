# one spike in the accelerometer, robust loss, Adam
import torch

torch.manual_seed(43)
signal = torch.randn(900, 5)
signal[517, 3] = 9e22  # bit flip in the exponent
load = signal[:, :2].sum(1)

w = torch.nn.Parameter(torch.zeros(5))
b = torch.nn.Parameter(torch.zeros(1))
adam = torch.optim.Adam([w, b], lr=1e-2)
for epoch in range(2):
    for s, t in zip(signal.split(30), load.split(30)):
        residual = s @ w + b - t
        loss = residual.abs().mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
    print(epoch, loss.item(), w.tolist())
