"""`premortem mcp`, asked by the SDK's own client over a real pipe."""

import asyncio
import json
import sys

import pytest

from tests import starting

mcp = pytest.importorskip("mcp")

BROKEN = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model[0].parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
for _ in range(40):
    x = torch.randn(16, 4)
    loss = criterion(model(x), x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
LINTED = """
from torch import nn
criterion = nn.CrossEntropyLoss()
def loss(model, x, y):
    out = model(x)
    out = nn.functional.softmax(out, dim=1)
    return criterion(out, y)
"""


def asked(folder, ask, *options):
    """What `ask` returns, which is given a client."""
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "premortem", "mcp", "--folder", str(folder), *options]
    )

    async def session():
        async with mcp.Client(server) as client:
            return await ask(client)

    return asyncio.run(asyncio.wait_for(session(), 300))


async def call(client, tool, **arguments):
    done = await client.call_tool(tool, arguments)
    text = "".join(getattr(each, "text", "") for each in done.content)
    assert not done.is_error, text
    return done.structured_content or json.loads(text)


def test_without_permission_there_are_only_tools_that_read(tmp_path):
    async def ask(client):
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asked(tmp_path, ask)}
    assert set(tools) == {"lint", "explain", "runs", "findings", "numbers", "ckpt_list"}
    assert all(tool.annotations.read_only_hint for tool in tools.values())
    more = {tool.name: tool for tool in asked(tmp_path, ask, "--allow-run")}
    assert set(more) - set(tools) == {"check", "fit", "replay", "run", "stop", "why", "try_fix"}
    assert not any(more[name].annotations.read_only_hint for name in set(more) - set(tools))


def test_an_agents_session_from_a_model_that_does_not_learn_to_its_cause(tmp_path):
    (tmp_path / "train.py").write_text(BROKEN)
    (tmp_path / "losses.py").write_text(LINTED)
    starting.run(
        [sys.executable, "-m", "premortem", "run", "--quiet", "train.py"],
        cwd=tmp_path,
        check=True,
        timeout=120,
    )

    async def ask(client):
        linted = await call(client, "lint", paths=["losses.py"])
        listed = await call(client, "runs")
        found = await call(client, "findings")
        whole = await call(
            client, "findings", run=listed["runs"][0]["run"], code=found["findings"][0]["code"]
        )
        page = await call(client, "explain", finding=found["findings"][0]["code"])
        numbers = await call(client, "numbers")
        resource = await client.read_resource(f"premortem://findings/{page['name']}")
        return linted, listed, found, whole, page, numbers, resource

    linted, listed, found, whole, page, numbers, resource = asked(tmp_path, ask)
    assert [each["code"] for each in linted["findings"]] == ["PM517"]
    assert [(each["script"], each["steps"]) for each in listed["runs"]] == [("train.py", 40)]
    assert found["findings"][0]["code"] == "PM103"
    assert "evidence" not in found["findings"][0]
    assert whole["findings"][0]["evidence"]
    assert page["name"] == "parameter-without-optimizer"
    assert numbers["curves"]["loss"]
    assert "parameter-without-optimizer" in resource.contents[0].text


FIX = """--- a/train.py
+++ b/train.py
@@ -6 +6 @@
-optimizer = torch.optim.SGD(model[0].parameters(), lr=0.1)
+optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""


def test_an_agents_fix_is_tried_before_anyone_believes_it(tmp_path):
    longer = BROKEN.replace("range(40)", "range(400)")
    (tmp_path / "train.py").write_text(longer)

    async def ask(client):
        wrong = FIX.replace(
            "+optimizer = torch.optim.SGD(model.", "+optimizer = torch.optim.SGD(model[0]."
        ).replace("lr=0.1)\n", "lr=1e-9)\n")
        return await call(client, "try_fix", script="train.py", diffs=[FIX, wrong], minutes=1)

    said = asked(tmp_path, ask, "--allow-run")
    proposed = [row for row in said["trials"] if row["question"] == "proposals"]
    assert proposed[0]["verdict"] == "helps", said
    assert proposed[1]["verdict"] != "helps", said
    assert said["proposals"] == {"diff 1": "helps", "diff 2": proposed[1]["verdict"]}
    assert "premortem-mcp" not in json.dumps(said)  # the folder of our own
    assert len(json.dumps(said)) < 8000
    assert (tmp_path / "train.py").read_text() == longer


@pytest.mark.exhaustive
def test_an_agent_asks_why(tmp_path):
    (tmp_path / "train.py").write_text(BROKEN.replace("range(40)", "range(400)"))

    async def ask(client):
        return await call(client, "why", script="train.py", minutes=2)

    said = asked(tmp_path, ask, "--allow-run")
    assert said["verdict"] == "cause", said
    assert said["causes"][0]["family"] == "optimizer-ownership"
    assert not any("curve" in row for row in said["trials"])


def test_nothing_outside_of_the_project_is_read(tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "project" / "link").symlink_to(tmp_path / "other")

    async def ask(client):
        return [await client.call_tool("lint", {"paths": [path]}) for path in ("../other", "/etc", "link")]

    for done in asked(tmp_path / "project", ask):
        assert done.is_error
        assert "outside" in done.content[0].text


def test_what_goes_wrong_is_a_sentence(tmp_path):
    async def ask(client):
        return [
            await client.call_tool("findings", {}),
            await client.call_tool("explain", {"finding": "PM999"}),
            await client.call_tool("try_fix", {"script": "train.py", "diff": "--- a misspelled argument"}),
        ]

    nothing, unknown, no_fix = asked(tmp_path, ask, "--allow-run")
    assert no_fix.is_error
    assert "which fix? give `diffs`" in no_fix.content[0].text
    assert nothing.is_error
    assert unknown.is_error
    assert "PM999" in unknown.content[0].text


def test_the_text_for_agents_names_verbs_that_exist(capsys):
    from premortem import cli

    assert cli.main(["agents"]) == 0
    text = capsys.readouterr().out
    named = {line.split("`premortem ")[1].split()[0] for line in text.splitlines() if "| `premortem " in line}
    assert named
    assert named <= set(cli.VERBS)


def test_a_patch_comes_with_the_short_finding_and_once_with_the_report():
    from premortem.agents.project import _short

    finding = {
        "code": "PM122",
        "step": 4,
        "evidence": {"calls": 4, "patch": {"diff": "-a\n+b\n", "title": "how"}},
    }
    assert _short(finding) == {"code": "PM122", "step": 4, "patch": "-a\n+b\n"}
    assert _short({"code": "PM122", "evidence": {}}) == {"code": "PM122"}


def test_progress_says_what_the_verb_says(tmp_path):
    from premortem.agents.project import _Spoken

    async def ask():
        code = "import sys; sys.stderr.write('premortem check: 1 of 4 parts\\nnoise\\n'); print('out')"
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=pipe, stderr=pipe)
        spoken = _Spoken()
        return await spoken.to_the_end(process), spoken.doing

    (out, err), doing = asyncio.run(ask())
    assert (out, doing) == (b"out\n", "premortem check: 1 of 4 parts")
    assert err.endswith(b"noise\n")
