import torch


class Solver:
    def __init__(self, net, lr):
        self.net = net
        self.optim = torch.optim.Adam(net.parameters(), lr=lr)

    def train_step(self, x, y):
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optim.zero_grad()  # expect: PM532
        self.optim.step()
        return loss.item()
