"""Which version a project runs with: read from files, the most binding one first, nothing imported."""

import pytest

from premortem.errors import UsageError
from premortem.lint import signatures, target, versions
from premortem.lint.target import Pin, Target

KNOWN = [(2, minor) for minor in range(16)]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder in no repository, and no active environment."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.setattr(target.sys, "prefix", str(tmp_path / "nowhere"))
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def install(environment, *distributions):
    for name in distributions:
        info = environment / "lib" / "python3.11" / "site-packages" / f"{name}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\n")


@pytest.mark.parametrize(
    ("requirement", "first", "last"),
    [
        (">=2.1,<2.5", (2, 1), (2, 4)),
        ("==2.4.1", (2, 4), (2, 4)),
        ("==2.4.1+cu121", (2, 4), (2, 4)),
        ("==2.4", (2, 4), (2, 4)),
        ("==2.4.*", (2, 4), (2, 4)),
        ("~=2.1.0", (2, 1), (2, 1)),
        ("~=2.1", (2, 1), (2, 15)),
        ("^2.3", (2, 3), (2, 15)),
        ("~2.3", (2, 3), (2, 3)),
        ("=2.1=py3.11_cuda", (2, 1), (2, 1)),
        (">2.4.0", (2, 4), (2, 15)),
        (">=1.8", (2, 0), (2, 15)),
        ("<=2.1", (2, 0), (2, 1)),
        ("!=2.0.*", (2, 1), (2, 15)),
        ("==2.1.2||==2.3.0", (2, 1), (2, 3)),
    ],
)
def test_requirements_as_people_write_them(requirement, first, last):
    found = versions.allowed(requirement, KNOWN)
    assert (found[0], found[-1]) == (first, last)


def test_a_requirement_that_nothing_known_satisfies():
    assert versions.allowed("==1.13.1", KNOWN) == ()


def test_asked_for_comes_first(project):
    (project / "requirements.txt").write_text("torch==2.1.0\n")
    found = target.find(project, "2.4")
    assert (found.version, found.said_by) == ((2, 4), "as asked")
    assert target.find(project, "v2.4.1+cu121").version == (2, 4)


@pytest.mark.parametrize("text", ["newest", "2", "two.four", ">=2.1"])
def test_asked_for_nonsense(project, text):
    with pytest.raises(UsageError, match="is not a version of torch"):
        target.find(project, text)


def test_nothing_is_known_then_the_newest(project):
    found = target.find(project)
    assert found == Target(())
    assert found.version == signatures.releases("torch")[-1]
    assert "newest known" in str(found.pin("torch"))


def test_the_environment_of_the_project(project):
    install(
        project / ".venv", "torch-2.3.1+cpu", "torchvision-0.18.1", "numpy-2.0.0", "torch_geometric-2.8.1"
    )
    found = target.find(project)
    assert (found.version, found.said_by) == ((2, 3), "installed in .venv")
    assert found.pin("torchvision").minors == ((0, 18),)


def test_the_active_environment(project, tmp_path, monkeypatch):
    install(tmp_path / "active", "torch-2.5.1")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    assert target.find(project).version == (2, 5)


def test_metadata_must_be_there(project):
    install(project / ".venv", "torch-2.3.1")
    (project / ".venv/lib/python3.11/site-packages/torch-2.3.1.dist-info/METADATA").unlink()
    assert target.find(project) == Target(())


def test_an_environment_that_the_project_rules_out_is_another_project_s(project, tmp_path, monkeypatch):
    install(tmp_path / "active", "torch-2.13.0")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    (project / "requirements.txt").write_text("torch==2.1.0\n")
    assert target.find(project).pin("torch") == Pin("torch", "==2.1.0", "requirements.txt")
    (project / "requirements.txt").write_text("torch>=2.1.0\n")
    assert target.find(project).pin("torch") == Pin("torch", "==2.13.0", "installed")


LOCKED = {
    "uv.lock": '[[package]]\nname = "torchmetrics"\nversion = "1.0"\n\n[[package]]\nname = "torch"\nversion = "2.4.1+cu121"\n',
    "poetry.lock": '[[package]]\nname = "torch"\nversion = "2.4.1"\ndescription = ""\n',
    "pdm.lock": '[[package]]\nname = "torch"\nversion = "2.4.1"\nrequires_python = ">=3.8"\n',
    "Pipfile.lock": '{\n    "default": {\n        "torch": {\n            "hashes": [\n                "sha256:0"\n'
    '            ],\n            "version": "==2.4.1"\n        }\n    }\n}\n',
}
WRITTEN = {
    "requirements.txt": "numpy\ntorch==2.4.1  # why\ntorchvision\n",
    "requirements-dev.txt": "torch[extra]==2.4.1 ; python_version > '3.8'\n",
    "setup.cfg": "[options]\ninstall_requires =\n    torch==2.4.1\n    numpy\n",
    "setup.py": 'setup(install_requires=["numpy", "torch==2.4.1", "tqdm"])\n',
    "pyproject.toml": '[project]\ndependencies = ["numpy>=1", "torch==2.4.1"]\n',
    "environment.yml": "channels: [pytorch]\ndependencies:\n  - python=3.11\n  - pytorch=2.4.1=py3.11_cuda12\n",
    "Pipfile": '[packages]\ntorch = "==2.4.1"\n',
}


@pytest.mark.parametrize("name", [*LOCKED, *WRITTEN])
def test_written_down(project, name):
    (project / name).write_text({**LOCKED, **WRITTEN}[name])
    found = target.find(project)
    assert (found.version, found.said_by) == ((2, 4), name)


@pytest.mark.parametrize(
    ("name", "text", "newest"),
    [
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "^2.1"\n', signatures.releases("torch")[-1]),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = {version = "~2.2", source = "cu"}\n', (2, 2)),
        ("environment.yml", "dependencies:\n  - pip:\n    - torch>=2.0,<2.3\n", (2, 2)),
        ("environment.yml", "dependencies:\n  - pytorch::pytorch==2.2.0\n", (2, 2)),
        ("requirements.txt", "torch >= 2.0, < 2.3\n", (2, 2)),
        ("requirements.txt", "--index-url https://x\ntorch==2.1.0 --hash=sha256:0\n", (2, 1)),
    ],
)
def test_other_ways_to_write_it(project, name, text, newest):
    (project / name).write_text(text)
    assert target.find(project).version == newest


@pytest.mark.parametrize(
    "text",
    [
        "torch\n",
        "torchvision==0.15.2\n",
        "pytorch-lightning==2.0\n",
        "# torch==2.1\n",
        "my-torch==2.1\n",
        "torch-scatter==2.1\n",
    ],
)
def test_what_says_nothing_about_torch(project, text):
    (project / "requirements.txt").write_text(text)
    assert target.find(project).pin("torch").requirement == ""


def test_a_lock_binds_more_than_a_requirement(project):
    (project / "requirements.txt").write_text("torch>=2.0\n")
    (project / "uv.lock").write_text(LOCKED["uv.lock"])
    assert target.find(project).said_by == "uv.lock"


def test_the_files_of_the_repository_above_count(project):
    (project / ".git").mkdir()
    (project / "requirements.txt").write_text("torch==2.1.0\n")
    inner = project / "src" / "model"
    inner.mkdir(parents=True)
    assert target.find(inner).version == (2, 1)


def test_other_distributions(project):
    (project / "requirements.txt").write_text(
        "pytorch-lightning==1.9.5\ntransformers>=4.40,<4.50\naccelerate==1.2.1\n"
    )
    found = target.find(project)
    assert found.pin("lightning").minors == ((1, 9),)
    assert found.pin("transformers").newest == (4, 49)
    assert found.pin("accelerate").minors == ((1, 2),)


def test_older_and_newer_than_anything_known(project):
    assert Pin("torch", "==1.13.1", "x").newest is None
    assert Target((Pin("torch", "==1.13.1", "x"),)).version == (1, 13)
    newest = signatures.releases("torch")[-1]
    assert Pin("torch", f"=={newest[0]}.{newest[1] + 1}.0", "x").minors == ((newest[0], newest[1] + 1),)
    assert Pin("torch", ">=1.8", "x").allows_older
    assert not Pin("torch", ">=2.0", "x").allows_older


def test_messages_name_the_version_and_where_it_was_read():
    assert str(Pin("torch", "==2.4.1", "uv.lock")) == "torch 2.4 (uv.lock)"
    assert str(Pin("torch", ">=2.0", "setup.py")) == "torch >=2.0 (setup.py)"
    assert str(Pin("torch", "==1.13.1", "setup.py")) == "torch ==1.13.1 (setup.py)"
