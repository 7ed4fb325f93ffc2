# runs with: torch>=2.0
from torch.optim.lr_scheduler import StepLR


def build(optimizer):
    return StepLR(optimizer, 10, verbose=True)  # expect: PM580
