"""A warning that C code raises in a statement of the user's names that statement: the file, the line and its text."""

import re
import sys

from tests import starting

SCRIPT = """
import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    out = model(torch.randn(8, 4))
    alone = out[:1].std(0)
    loss = out.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    value = float(loss)
    again = torch.tensor(loss)
"""
WARNED = re.compile(r"^(\S+):(\d+): (\w+): (.{20}).*\n(?:(?!  ).*\n)*(  .*)", re.MULTILINE)


def warned(command, folder):
    done = starting.run([sys.executable, *command, "train.py"], cwd=folder)
    assert done.returncode == 0, done.stderr
    return set(WARNED.findall(done.stderr))


def test_a_warning_of_c_code_names_the_users_line(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    alone = warned([], tmp_path)
    assert {int(line) for _, line, *_ in alone} == {8, 13, 14}
    assert warned(["-m", "premortem", "run", "--quiet"], tmp_path) == alone
