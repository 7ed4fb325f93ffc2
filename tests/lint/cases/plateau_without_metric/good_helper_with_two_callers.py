import torch


def advance(scheduler, metric):
    if metric is None:
        scheduler.step()
    else:
        scheduler.step(metric)


def main(opt, losses):
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10)
    for loss in losses:
        advance(plateau, loss)
        advance(cosine, None)
