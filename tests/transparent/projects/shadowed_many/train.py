import console
import events
import findings
import premortem_notes
import sqlite3
import torch
print([module.WHO for module in (console, events, findings, premortem_notes, sqlite3)])
x = torch.ones(1, requires_grad=True)
optimizer = torch.optim.Adam([x], lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    (x ** 2).sum().backward()
    optimizer.step()
