"""What the script finds in its own module."""
import sys
import torch
print(__name__, __package__, __doc__, __spec__, __builtins__ is __import__("builtins"))
print(sorted(name for name in globals() if name.startswith("__")))
print(sys.argv[1:], sys.modules["__main__"].__dict__ is globals(), __loader__.__class__.__name__)
print(torch.__name__)
