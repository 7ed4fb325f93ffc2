"""The profiler names the user's operations and modules."""
import torch
from torch.profiler import ProfilerActivity, profile, record_function
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    with record_function("mine"):
        torch.ones(3).exp()
print(sorted({event.key for event in profiler.key_averages()} & {"mine", "aten::exp", "aten::ones"}))
