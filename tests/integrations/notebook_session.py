"""Cells of a notebook, run by a real kernel; prints what each displayed, as JSON."""

import json
import sys
from pathlib import Path

from jupyter_client import KernelManager

LOOP = """
for _ in range(30):
    x = torch.randn(32, 4)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SETUP = """
import helper, torch, premortem
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
"""
FORGETFUL = "optimizer = torch.optim.Adam(model[0].parameters(), lr=1e-2)"
CELLS = {
    "load": "%load_ext premortem",
    "setup": SETUP,
    "healthy": f"%%premortem{LOOP}x.shape",
    "broken": f"%%premortem\n{FORGETFUL}{LOOP}print('the loop is over')",
    "watch": f"{FORGETFUL}\nwatched = premortem.watch(model, optimizer){LOOP}watched.close()",
    "crash": f"%%premortem\noptimizer = torch.optim.Adam(model.parameters())\n{LOOP}raise KeyError('<script>')",
    "stale": f"%%premortem{LOOP}",
    "watch stale": f"with premortem.watch(model, optimizer):{LOOP}".replace("\n", "\n    "),
    "typo": "%%premortem --polcy strict\nx = 1",
    "after": "torch.nn.Module.__call__.__module__",
}


def run(client, cell):
    """Cards in the order they were shown, each as it was in the end; and how often it was changed."""
    cards, changes, said, failed = {}, 0, "", ""
    client.execute(cell)
    while True:
        message = client.get_iopub_msg(timeout=60)
        kind, content = message["msg_type"], message["content"]
        if kind in {"display_data", "update_display_data"} and "text/html" in content["data"]:
            cards[content["transient"]["display_id"]] = content["data"]
            changes += 1
        elif kind == "execute_result":
            said += content["data"]["text/plain"]
        elif kind == "stream":
            said += content["text"]
        elif kind == "error":
            failed = content["ename"]
        elif kind == "status" and content["execution_state"] == "idle":
            return {"cards": list(cards.values()), "changes": changes, "said": said, "failed": failed}


Path("helper.py").write_text("def value():\n    return 1\n")
kernel = KernelManager(kernel_name="python3")
kernel.start_kernel()
client = kernel.blocking_client()
client.start_channels()
try:
    client.wait_for_ready(timeout=60)
    seen = {}
    for name, cell in CELLS.items():
        if name == "stale":
            Path("helper.py").write_text("def value():\n    return 2\n")
        seen[name] = run(client, cell)
finally:
    client.stop_channels()
    kernel.shutdown_kernel(now=True)
sys.stdout.write(json.dumps(seen) + "\n")
