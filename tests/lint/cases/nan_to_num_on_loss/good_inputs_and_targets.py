import numpy as np
import torch
from scipy.optimize import linear_sum_assignment


class Dataset(torch.utils.data.Dataset):
    def __getitem__(self, index):
        depth = torch.from_numpy(self.depth[index])
        depth = torch.nan_to_num(depth, nan=0.0)
        target = torch.nan_to_num(self.targets[index])
        return depth, target


def matcher(cost_class, cost_box):
    cost = cost_class + 5 * cost_box
    cost = torch.nan_to_num(cost, nan=1e6, posinf=1e6)
    return linear_sum_assignment(cost.cpu())


def epoch_loss(losses):
    return np.nan_to_num(np.mean(losses))


def empty_batch_loss(per_item):
    if per_item.numel() == 0:
        return torch.nan_to_num(per_item.mean())
    return per_item.mean()


def masked_mean_loss(values, mask):
    loss = (values * mask).sum() / mask.sum()
    if mask.sum() == 0:
        loss = torch.nan_to_num(loss)
    return loss


def plot(history):
    loss_curve = np.nan_to_num(history["loss"])
    return loss_curve


def forward(self, x):
    x = torch.nan_to_num(x)
    return self.encoder(x)


@torch.no_grad()
def evaluate(model, loader):
    total = 0.0
    for x, y in loader:
        logits = torch.nan_to_num(model(x))
        total += (logits.argmax(-1) == y).sum().item()
    return total


def softmax_of_empty_rows(scores, mask):
    attention = scores.masked_fill(mask, float("-inf")).softmax(-1)
    return torch.nan_to_num(attention)


def report(loss):
    print(f"loss {torch.nan_to_num(loss).item():.3f}")


def ignored_labels(output, target, ce):
    loss = ce(output, target, ignore_index=-100)
    # In case all labels are ignored, the mean is NaN.
    loss = torch.nan_to_num(loss, nan=0.0)
    return loss


def frozen_rows(embedding, rows):
    embedding.weight.grad[rows] = 0
    return embedding
