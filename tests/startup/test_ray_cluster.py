"""What `premortem run` says of Ray's workers, by a stand-in for Ray; tests/integrations/test_ray.py has a real cluster."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pytest

from premortem.run import ray_cluster
from premortem.run.ray_cluster import RayCluster, Worker, gap

OWN, OTHER, THIRD = "a" * 56, "b" * 56, "c" * 56
HOSTS = {
    OWN: ("desk", "192.0.2.2"),
    OTHER: ("gpu-2", "192.0.2.7"),
    THIRD: ("192.0.2.9", "192.0.2.9"),
}


def node(identity, *, alive=True):
    host, address = HOSTS[identity]
    return {
        "NodeID": identity,
        "NodeManagerHostname": host,
        "NodeManagerAddress": address,
        "Alive": alive,
    }


class Scene:
    """A cluster whose machines and workers a test changes; the first is this run's own, if `started`."""

    def __init__(self, monkeypatch, *, started=True):
        self.nodes, self.workers, self.said = [node(OWN)], [], []
        self.on = False
        ray = SimpleNamespace(init=self._init, shutdown=self._shutdown, is_initialized=lambda: self.on)
        ray.nodes = lambda: self.nodes
        monkeypatch.setitem(sys.modules, "ray", ray)
        monkeypatch.setattr(ray_cluster, "_workers", lambda: self.workers)
        monkeypatch.setattr(
            ray_cluster, "_started_with", lambda order, nodes: nodes & {OWN} if started else set()
        )
        self.ray = ray
        self.descendants = SimpleNamespace(order="order", from_inside=False)
        self.cluster = RayCluster(self.descendants, self.said.append)
        self.cluster._arrived()

    def _init(self):
        self.on = True

    def _shutdown(self):
        self.on = False


@pytest.fixture
def scene(monkeypatch):
    scene = Scene(monkeypatch)
    yield scene
    scene.cluster.leave()


def test_workers_of_this_machine_are_no_gap(scene):
    scene.ray.init()
    scene.workers = [Worker(b"1", OWN, alive=True)]
    scene.ray.shutdown()
    assert scene.cluster.used
    assert (scene.cluster.unreached(), scene.said) == ([], [])


def test_a_machine_that_joins_and_works_is_named(scene):
    scene.ray.init()
    scene.nodes.append(node(OTHER))
    scene.workers = [Worker(b"1", OWN, alive=True), Worker(b"2", OTHER, alive=False)]
    scene.ray.shutdown()
    assert scene.cluster.unreached() == ["gpu-2 (192.0.2.7)"]
    (said,) = scene.said
    assert said.startswith("nothing that Ray's workers do on gpu-2 (192.0.2.7) is watched")
    assert "premortem.integrations.ray" in said


def test_a_machine_that_has_left_again_is_named_too(scene):
    scene.ray.init()
    scene.nodes.append(node(OTHER, alive=False))
    scene.workers = [Worker(b"2", OTHER, alive=False)]
    scene.ray.shutdown()
    assert scene.cluster.unreached() == ["gpu-2 (192.0.2.7)"]


def test_a_machine_that_joins_and_does_nothing_is_none(scene):
    scene.ray.init()
    scene.nodes.append(node(OTHER))
    scene.ray.shutdown()
    assert (scene.cluster.unreached(), scene.said) == ([], [])


def test_a_cluster_that_ran_before_is_named_at_once_and_its_past_is_none_of_this_run(monkeypatch):
    scene = Scene(monkeypatch, started=False)
    scene.nodes.append(node(OTHER))
    scene.workers = [Worker(b"1", OTHER, alive=False)]  # of a script before this one
    scene.ray.init()
    assert [each.partition(":")[0] for each in scene.said] == [
        "nothing that Ray's workers do on desk (192.0.2.2) and gpu-2 (192.0.2.7) is watched"
    ]
    scene.workers.append(Worker(b"2", OWN, alive=True))
    scene.cluster.leave()
    assert scene.cluster.unreached() == ["desk (192.0.2.2)"]
    assert len(scene.said) == 1


def test_whoever_watches_from_inside_hears_nothing(scene):
    scene.descendants.from_inside = True
    scene.ray.init()
    scene.nodes.append(node(OTHER))
    scene.workers = [Worker(b"2", OTHER, alive=True)]
    scene.ray.shutdown()
    assert scene.said == []


def test_a_ray_that_does_not_list_its_workers_has_all_its_machines_named(scene, monkeypatch):
    monkeypatch.setattr(ray_cluster, "_workers", lambda: None)
    scene.ray.init()
    scene.nodes.append(node(THIRD))
    scene.cluster.leave()
    assert scene.cluster.unreached() == ["192.0.2.9"]


def test_ray_is_as_it_was_when_the_run_is_over(scene):
    scene.cluster.leave()
    assert (scene.ray.init, scene.ray.shutdown) == (scene._init, scene._shutdown)


def test_a_sentence_names_three_machines_and_counts_the_others():
    text = gap([f"gpu-{number}" for number in range(1, 6)])
    assert text.startswith("what Ray's workers did on gpu-1, gpu-2, gpu-3 and 2 other machines: ")
    assert gap(["gpu-1"]).startswith("what Ray's workers did on gpu-1: ")


STAND_IN = f"""
import subprocess, sys
_nodes, _started = [], []

def _node(identity, host):
    return {{"NodeID": identity, "NodeManagerHostname": host, "NodeManagerAddress": "192.0.2.7", "Alive": True}}

def init(address=None):
    if address is None:  # a process of this machine's, as the raylet is one
        command = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()", "--node_id={OWN}"]
        _started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        _started[0].stdout.readline()
    _nodes.append(_node("{OWN}", "desk"))

def is_initialized():
    return bool(_nodes)

def nodes():
    return _nodes

def joined():
    _nodes.append(_node("{OTHER}", "gpu-2"))

def shutdown():
    _nodes.clear()
    for process in _started:
        process.communicate()
"""


def run(tmp_path, code):
    (tmp_path / "ray.py").write_text(textwrap.dedent(STAND_IN))
    (tmp_path / "driver.py").write_text(textwrap.dedent(code))
    words = ["-m", "premortem", "run", "--findings", "found.json", "driver.py"]
    done = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, timeout=200, check=True
    )
    return done.stderr, json.loads((tmp_path / "found.json").read_text())["run"]["watched"]


def test_the_command_says_at_its_end_which_machine_was_not_looked_at(tmp_path):
    text, watched = run(tmp_path, "import ray\nray.init()\nray.joined()\nray.shutdown()\n")
    (missed,) = watched["missed"]
    assert missed.startswith("what Ray's workers did on gpu-2 (192.0.2.7): ")
    assert "not looked at: what Ray's workers did on gpu-2 (192.0.2.7)" in text
    assert "desk" not in text
    assert watched["reason"].startswith("Ray was used")


def test_the_command_says_at_once_that_a_cluster_which_ran_before_is_not_watched(tmp_path):
    code = "import ray, sys\nray.init('auto')\nprint('NOW', file=sys.stderr)\nray.shutdown()\n"
    before, _, after = run(tmp_path, code)[0].partition("NOW")
    assert "nothing that Ray's workers do on desk (192.0.2.7) is watched" in before
    assert "not looked at: what Ray's workers did on desk (192.0.2.7)" in after


def test_a_script_that_only_imports_ray_hears_nothing_of_it(tmp_path):
    text, watched = run(tmp_path, "import ray\n")
    assert watched["missed"] == []
    assert "Ray" not in text
