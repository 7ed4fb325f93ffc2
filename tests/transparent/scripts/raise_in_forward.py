"""An exception from a forward, not caught."""
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(5, 1))
    def forward(self, x):
        return self.inner(x)
Net()(torch.ones(2, 4))
