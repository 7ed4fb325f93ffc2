"""Two threads that train, each its own model."""
import threading
import torch
out = {}
def train(seed):
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(3, generator=generator, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        (weight ** 2).sum().backward()
        optimizer.step()
    out[seed] = weight.tolist()
threads = [threading.Thread(target=train, args=(seed,)) for seed in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(out[0], out[1])
