import numpy as np
import torch
from scipy.stats import spearmanr
from sklearn.metrics import auc, cohen_kappa_score, precision_recall_curve


def area(known, unknown):
    try:
        labels = np.concatenate([np.ones_like(known), np.zeros_like(unknown)])
        precision, recall, _ = precision_recall_curve(labels, np.concatenate([known, unknown]))
        return auc(recall, precision)
    except Exception:
        return 0.0  # expect: PM505


def agreement(first, second):
    try:
        kappa = cohen_kappa_score(first, second)
    except Exception:
        kappa = 0.0  # expect: PM505
    return kappa


def ranks(pairs):
    found = []
    for first, second in pairs:
        try:
            found.append(spearmanr(first, second)[0])
        except Exception:
            found.append(0.0)  # expect: PM505
    return found
