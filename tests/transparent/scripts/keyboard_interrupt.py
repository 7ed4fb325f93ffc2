"""KeyboardInterrupt that the script handles."""
import torch
model = torch.nn.Linear(2, 1)
try:
    for step in range(10):
        model(torch.ones(1, 2))
        if step == 3:
            raise KeyboardInterrupt
except KeyboardInterrupt:
    print("stopped by hand at", step)
