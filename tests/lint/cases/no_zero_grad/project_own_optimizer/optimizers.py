import torch


class Scheduled:
    def __init__(self, params):
        self.inner = torch.optim.Adam(params)

    def step(self):
        self.inner.step()
        self.inner.zero_grad()
