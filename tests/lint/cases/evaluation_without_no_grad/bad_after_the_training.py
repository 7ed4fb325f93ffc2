import torch

from graphs import load_graphs
from network import Corrector

net = Corrector()
optimizer = torch.optim.Adam(net.parameters())
graphs = load_graphs()
for _epoch in range(10):
    for seeds, truth in graphs:
        optimizer.zero_grad()
        loss = (net(seeds) - truth).pow(2).mean()
        loss.backward()
        optimizer.step()

net.eval()
hits = 0
for number, (seeds, truth) in enumerate(graphs):  # expect: PM536
    corrected = net(seeds)
    hits += int((corrected.argmax(1) == truth).sum())
print(hits)
