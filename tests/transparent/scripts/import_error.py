"""A module that is not there, caught and uncaught."""
import traceback
try:
    import no_such_module_at_all
except ImportError:
    traceback.print_exc()
import torch
import torch.no_such_part
