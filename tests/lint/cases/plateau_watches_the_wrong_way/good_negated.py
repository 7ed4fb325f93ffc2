from torch.optim.lr_scheduler import ReduceLROnPlateau


def after_epoch(optimizer, rows):
    scheduler = ReduceLROnPlateau(optimizer)
    for val_acc in rows:
        scheduler.step(-val_acc)
        scheduler.step(1 - val_acc)
