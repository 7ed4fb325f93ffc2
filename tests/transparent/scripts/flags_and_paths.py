"""The interpreter's settings."""
import os
import sys
import warnings
import torch
print(sys.flags, sys.path[0] == os.path.dirname(os.path.abspath(__file__)), sys.getrecursionlimit(), sys.getswitchinterval())
print(sys.warnoptions, warnings.filters[:1], sys.dont_write_bytecode, sys.gettrace(), sys.getprofile())
print(sys.stdin.closed, sys.stdout.encoding, sys.stdout.errors, sys.stdout.isatty(), sys.stdout.fileno(), sys.stderr.fileno())
print(torch.is_grad_enabled(), torch.get_default_dtype(), torch.is_deterministic_algorithms_warn_only_enabled())
