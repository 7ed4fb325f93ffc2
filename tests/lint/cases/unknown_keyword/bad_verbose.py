import torch
from torch.optim import lr_scheduler
from torch.optim.lr_scheduler import ReduceLROnPlateau, StepLR


def build(optimizer, args):
    plateau = ReduceLROnPlateau(optimizer, mode="min", patience=3, verbose=True)  # expect: PM580
    step = StepLR(optimizer, 10, verbose=args.verbose)  # expect: PM580
    cosine = lr_scheduler.CosineAnnealingLR(
        optimizer,
        T_max=100,
        eta_min=1e-6,
        verbose=False,  # expect: PM580
    )
    alone = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda e: 0.9**e, verbose=True)  # expect: PM580
    return plateau, step, cosine, alone
