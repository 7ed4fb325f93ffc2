import console
import events
import findings
import premortem_notes
import rich
import sqlite3
import threading
import torch
from rich.console import Console
print([module.WHO for module in (console, events, findings, premortem_notes, sqlite3)])
print(rich.NAME, Console().show())
found = []
def work():
    import secrets
    found.append(secrets.TOKEN)
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(found)
x = torch.ones(1, requires_grad=True)
optimizer = torch.optim.Adam([x], lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    (x ** 2).sum().backward()
    optimizer.step()
print("nan" if x.isnan() else "finite", x.item())
