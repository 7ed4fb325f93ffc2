"""Causes, contexts, notes and groups of exceptions."""
import traceback
import torch
def fit():
    try:
        torch.nn.Linear(2, 2)(torch.ones(1, 3))
    except RuntimeError as error:
        error.add_note("while fitting") if hasattr(error, "add_note") else None
        raise ValueError("bad batch") from error
try:
    fit()
except ValueError:
    traceback.print_exc()
try:
    try:
        torch.ones(2).reshape(3)
    finally:
        torch.ones(2).view(3)
except RuntimeError:
    traceback.print_exc()
fit()
