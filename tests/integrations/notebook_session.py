"""Cells of a notebook, run by a real IPython; prints what each displayed, as JSON."""

import json
import sys
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

LOOP = """
for _ in range(30):
    x = torch.randn(32, 4)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SETUP = """
import helper, torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
"""
CELLS = {
    "load": "%load_ext premortem",
    "setup": SETUP,
    "healthy": f"%%premortem{LOOP}x.shape",
    "broken": "%%premortem\noptimizer = torch.optim.Adam(model[0].parameters(), lr=1e-2)" + LOOP,
    "crash": f"%%premortem\noptimizer = torch.optim.Adam(model.parameters())\n{LOOP}raise KeyError('<script>')",
    "stale": f"%%premortem{LOOP}",
    "typo": "%%premortem --polcy strict\nx = 1",
    "after": "torch.nn.Module.__call__.__module__",
}

sys.path.insert(0, str(Path.cwd()))
Path("helper.py").write_text("def value():\n    return 1\n")
shell = InteractiveShell.instance()
shell.history_manager.enabled = False
said = {}
for name, cell in CELLS.items():
    if name == "stale":
        Path("helper.py").write_text("def value():\n    return 2\n")
    with capture_output() as captured:
        result = shell.run_cell(cell)
    html = [output.data["text/html"] for output in captured.outputs if "text/html" in output.data]
    said[name] = {"html": html, "stdout": captured.stdout, "ok": result.success}
sys.__stdout__.write(json.dumps(said) + "\n")
