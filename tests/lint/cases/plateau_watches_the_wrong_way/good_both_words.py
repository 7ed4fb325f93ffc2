from torch.optim.lr_scheduler import ReduceLROnPlateau


def after_epoch(optimizer, rows):
    scheduler = ReduceLROnPlateau(optimizer)
    for dice_loss, acc_error in rows:
        scheduler.step(dice_loss)
        scheduler.step(acc_error)
