"""sys.exit with a sentence: printed, and 1."""
import sys
import torch
sys.exit(f"no data in {torch.__name__}")
