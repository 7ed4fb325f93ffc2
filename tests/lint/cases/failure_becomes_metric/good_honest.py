import math
import time

import torch


def nan_is_honest(labels, scores):
    try:
        auc = roc_auc_score(labels, scores)
    except Exception:
        auc = float("nan")
    return auc


def infinite_is_worst(model, loader):
    try:
        val_loss = run(model, loader)
    except Exception:
        val_loss = math.inf
    return val_loss


def none_is_missing(pred, target):
    try:
        psnr = peak(pred, target)
    except Exception:
        psnr = None
    return psnr


def narrow(labels, scores):
    try:
        auc = roc_auc_score(labels, scores)
    except ValueError:  # only one class present
        auc = 0.5
    return auc


def raises_again(model, batch):
    try:
        loss = model(batch)
    except Exception:
        loss = 0.0
        cleanup()
        raise
    return loss


def retries(path):
    for attempt in range(5):
        try:
            best_loss = read_remote(path)
            break
        except Exception:
            best_loss = 0.0
            time.sleep(2**attempt)
    return best_loss


def read_version():
    try:
        return metadata.version("thing")
    except Exception:
        return 0


def parse_epoch(name):
    try:
        epoch = int(name.split("_")[1])
    except Exception:
        epoch = 0
    return epoch


def resume(path):
    try:
        checkpoint = torch.load(path)
        best_acc = checkpoint["best_acc"]
        start_epoch = checkpoint["epoch"]
    except Exception:
        best_acc = 0.0
        start_epoch = 0
    return best_acc, start_epoch


def optional_import():
    try:
        import apex

        use_loss_scale = True
    except Exception:
        use_loss_scale = False
    return use_loss_scale


def lossless(path):
    try:
        mapping = load(path)
        bitmap = mapping.bits
    except Exception:
        bitmap = 0
        account = 1
        backlog = 0
    return bitmap, account, backlog


def history(log):
    try:
        last_loss = log["loss"][-1]
    except Exception:
        last_loss = 0.0
    return last_loss


def evaluate_expression(text, scope):
    try:
        return parse(text).run(scope)
    except Exception:
        return 0


def validate_port(text):
    try:
        return check(text)
    except Exception:
        return 0


def leaf_loss(model, batch):
    # A constant with requires_grad is another rule's business.
    try:
        loss = model(batch)
    except Exception:
        loss = torch.tensor(0.0, requires_grad=True)  # premortem: ignore[PM504]
    return loss
