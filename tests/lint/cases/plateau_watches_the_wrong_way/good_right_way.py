from torch.optim.lr_scheduler import ReduceLROnPlateau


def after_epoch(optimizer, rows):
    rising = ReduceLROnPlateau(optimizer, mode="max")
    falling = ReduceLROnPlateau(optimizer)
    for val_loss, val_acc in rows:
        rising.step(val_acc)
        falling.step(val_loss)
