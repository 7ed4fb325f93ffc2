"""SIGTERM without a handler: the process dies by the signal."""
import os
import signal
import torch
print(torch.ones(1).item(), flush=True)
os.kill(os.getpid(), signal.SIGTERM)
signal.pause()
