"""sys.exit with a number, after training."""
import sys
import torch
model = torch.nn.Linear(2, 1)
torch.optim.Adam(model.parameters()).step()
sys.exit(7)
