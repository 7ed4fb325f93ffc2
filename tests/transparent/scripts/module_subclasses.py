"""Modules that override what is covered: __call__, zero_grad, state_dict, load_state_dict, __setattr__."""
import torch
from torch import nn
class Net(nn.Linear):
    def __call__(self, *args, **kwargs):
        print("called")
        return super().__call__(*args, **kwargs)
    def zero_grad(self, set_to_none=True):
        print("cleared")
        super().zero_grad(set_to_none)
    def state_dict(self, *args, **kwargs):
        print("saved")
        return super().state_dict(*args, **kwargs)
    def load_state_dict(self, state_dict, strict=True, assign=False):
        print("loaded")
        return super().load_state_dict(state_dict, strict, assign)
    def __setattr__(self, name, value):
        super().__setattr__(name, value)
    def train(self, mode=True):
        print("train", mode)
        return super().train(mode)
class Lazy(nn.Module):
    def __getattr__(self, name):
        if name == "wanted":
            return 3
        return super().__getattr__(name)
    def forward(self, x):
        return x * self.wanted
model = Net(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model.zero_grad()
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
print(model.load_state_dict(model.state_dict()), Lazy()(torch.ones(1)), nn.LazyLinear(2)(torch.ones(1, 3)).shape)
