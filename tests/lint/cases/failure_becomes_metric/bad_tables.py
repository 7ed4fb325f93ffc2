import numpy as np
import torch


def quality_metrics(student, teacher, temperature):
    metrics = {}
    try:
        from project.losses import divergence

        apart = divergence(student, teacher, temperature)
        metrics["apart"] = float(apart.item())
        agreeing = (student.argmax(-1) == teacher.argmax(-1)).float().mean()
        metrics["agreement"] = float(agreeing.item())
        metrics["entropy"] = float(torch.softmax(student, -1).log().mean().item())
    except Exception as error:
        print(f"no metrics: {error}")
        metrics = {"apart": 0.0, "agreement": 0.0, "entropy": 0.0}  # expect: PM505
    return metrics


def of_all(names, values):
    try:
        return {name: np.std(values[name]) for name in names}
    except Exception:
        return dict.fromkeys(names, 0.0)  # expect: PM505


def of_each(names, values):
    try:
        return {name: np.std(values[name]) for name in names}
    except Exception:
        return {name: 0.0 for name in names}  # expect: PM505


def features(signal):
    found = {}
    try:
        found["mean"] = np.mean(signal)
        found["spread"] = np.std(signal)
    except Exception as error:
        print(error)
        for key in ("mean", "spread"):
            found[key] = 0.0  # expect: PM505
    return found


def loudness(signal):
    """What comes right after the handler is what it gives."""
    if len(signal):
        try:
            return float(np.sqrt(np.mean(np.square(signal))))
        except Exception:
            pass
    return 0.0  # expect: PM505
