"""The same one caught and printed, by every usual way."""
import logging
import sys
import traceback
import torch
from torch import nn
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(5, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    try:
        model(torch.ones(2, 4)).sum().backward()
    except RuntimeError as error:
        traceback.print_exc()
        print("".join(traceback.format_exception(error)))
        logging.exception("step %d", step)
        print(len(list(traceback.walk_tb(error.__traceback__))), error.__traceback__.tb_next.tb_frame.f_code.co_name)
sys.stderr.flush()
