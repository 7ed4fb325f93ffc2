"""A MemoryError of the script's own."""
import torch
try:
    torch.empty(1 << 60)
except RuntimeError as error:
    print(type(error).__name__, str(error)[:40])
