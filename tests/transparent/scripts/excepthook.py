"""An excepthook of the user's gets the exception as Python gives it."""
import sys
import torch
def hook(kind, error, trace):
    names = []
    while trace:
        names.append((trace.tb_frame.f_code.co_name, trace.tb_lineno))
        trace = trace.tb_next
    print(kind.__name__, error, names)
sys.excepthook = hook
torch.nn.Linear(2, 2)(torch.ones(1, 5))
