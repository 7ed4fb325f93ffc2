from torch.optim.lr_scheduler import CosineAnnealingLR, ReduceLROnPlateau


def after_epoch(optimizer, rows, plateau):
    scheduler = ReduceLROnPlateau(optimizer) if plateau else CosineAnnealingLR(optimizer, 10)
    for val_acc in rows:
        scheduler.step(val_acc)
