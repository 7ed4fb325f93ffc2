from torch.optim import lr_scheduler


def after_epoch(optimizer, scores):
    sched = lr_scheduler.ReduceLROnPlateau(optimizer, mode="min")
    for mean_iou in scores:
        sched.step(metrics=mean_iou.item())  # expect: PM551
