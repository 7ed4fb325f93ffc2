"""Forked children: their prints, exit codes and exceptions."""
import os
import sys
import torch
model = torch.nn.Linear(2, 1)
for code in (0, 3):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        print("child", code, model(torch.ones(1, 2)).shape, flush=True)
        os._exit(code)
    print("parent", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
sys.stdout.flush()
pid = os.fork()
if pid == 0:
    raise SystemExit(9)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
