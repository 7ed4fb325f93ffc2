"""abort() with faulthandler off."""
import os
import resource
import torch
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
print(torch.ones(1).item(), flush=True)
os.abort()
