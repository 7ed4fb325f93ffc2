import numpy as np
import torch


def quality_metrics(student, teacher):
    try:
        from project.losses import divergence

        return divergence(student, teacher)
    except ImportError:
        return 0.0


def settings_of(path):
    try:
        metrics = read(path)
        metrics["lr"] = float(metrics["lr"])
    except Exception:
        metrics = {"name": "none", "lr": 0.1}
    return metrics, torch.__version__


def seen(signal, keys):
    """The table is not what the `try` computes."""
    found = {}
    try:
        mean = np.mean(signal)
    except Exception:
        mean = float("nan")
        for key in keys:
            found[key] = 0.0
    return mean, found


def told(signal):
    """What comes after the handler computes."""
    try:
        return float(np.sqrt(np.mean(np.square(signal))))
    except Exception:
        pass
    signal = [abs(one) for one in signal]
    return max(signal)
