"""Code that looks at its callers."""
import inspect
import sys
import torch
class Net(torch.nn.Module):
    def forward(self, x):
        frame = sys._getframe()
        print(frame.f_back.f_code.co_name, inspect.stack()[1].function)
        return x
def report():
    return inspect.currentframe().f_back.f_lineno
Net()(torch.ones(1))
print(report())
