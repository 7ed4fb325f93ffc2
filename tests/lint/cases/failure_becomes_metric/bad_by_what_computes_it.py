import numpy as np
import torch


def overlap(a, b):
    try:
        return float(np.sum(a * b) / np.sum(a))
    except Exception:
        return 0.0  # expect: PM505


def pattern_match(a, b):
    value = 0.0
    try:
        value = torch.linalg.norm(a - b).item()
    except Exception:  # expect: PM505
        pass
    return {"match": value}


def asked_for_in_the_same_try(y, p):
    try:
        from sklearn.metrics import roc_auc_score

        area = roc_auc_score(y, p)
    except Exception:
        area = 0.0  # expect: PM505
    return area


class Trainer:
    def train_step(self, batch):
        try:
            loss = self.model(batch)
            loss.backward()
            self.optimizer.step()
            return loss.item()
        except Exception as error:
            print(error)
            return 0.0  # expect: PM505
