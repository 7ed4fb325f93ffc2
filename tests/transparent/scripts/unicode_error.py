"""An encoding error stays the script's."""
import sys
import torch
sys.stdout.reconfigure(encoding="ascii")
try:
    print("ü")
except UnicodeEncodeError as error:
    print(error.reason)
print(torch.ones(1).item())
