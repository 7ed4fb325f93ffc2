from torch.optim.lr_scheduler import ReduceLROnPlateau


def after_epoch(optimizer, losses):
    scheduler = ReduceLROnPlateau(optimizer)
    for loss in losses:
        scheduler.step(loss)
        scheduler.step(metrics=loss)
