"""Which version a project runs with: read from files, the most binding one first, nothing imported."""

import pytest

from premortem.errors import UsageError
from premortem.lint import signatures, target, versions
from premortem.lint.target import Pin, Target
from tests.lint.reading import target_of

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
    found = target_of(project, "2.4")
    assert (found.version, found.pin("torch").source) == ((2, 4), "as set")
    assert target_of(project, "v2.4.1+cu121").version == (2, 4)


@pytest.mark.parametrize("text", ["newest", "2", "two.four", ">=2.1"])
def test_asked_for_nonsense(project, text):
    with pytest.raises(UsageError, match="is not a version of torch"):
        target_of(project, text)


@pytest.mark.parametrize("text", ["9.9", "1.8", "1.13.1"])
def test_asked_for_what_is_not_known(project, text):
    known = signatures.releases("torch")
    first, last = (f"{major}.{minor}" for major, minor in (known[0], known[-1]))
    with pytest.raises(UsageError, match=rf"^torch {text} is not known .* knows torch {first} to {last}$"):
        target_of(project, text)


def test_nothing_is_known_then_the_newest(project):
    found = target_of(project)
    assert found == Target(())
    assert found.version == signatures.releases("torch")[-1]
    assert "newest known" in str(found.pin("torch"))


def test_the_environment_of_the_project(project):
    install(
        project / ".venv", "torch-2.3.1+cpu", "torchvision-0.18.1", "numpy-2.0.0", "torch_geometric-2.8.1"
    )
    found = target_of(project)
    assert (found.version, found.pin("torch").source) == ((2, 3), "installed in .venv")
    assert found.pin("torchvision").minors == ((0, 18),)


def test_the_active_environment(project, tmp_path, monkeypatch):
    install(tmp_path / "active", "torch-2.5.1")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    assert target_of(project).version == (2, 5)


def test_what_is_written_counts_more_than_an_environment_elsewhere(project, tmp_path, monkeypatch):
    install(tmp_path / "active", "torch-2.13.0")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    (project / "requirements.txt").write_text("torch>=2.1.0\n")
    assert target_of(project).pin("torch") == Pin("torch", ">=2.1.0", "requirements.txt")


def test_where_lint_is_installed_counts_only_inside_the_project(project, tmp_path, monkeypatch):
    for place, found in ((tmp_path / "tools", ""), (project / "own", "==2.5.1")):
        install(place, "torch-2.5.1")
        monkeypatch.setattr(target.sys, "prefix", str(place))
        assert target_of(project).pin("torch").requirement == found
    (project / "inner").mkdir()
    install(project / "inner" / "env", "torch-2.4.1")
    monkeypatch.setattr(target.sys, "prefix", str(project / "inner" / "env"))
    assert target_of(project).pin("torch").requirement == ""  # that one is the inner project's
    assert target_of(project / "inner").pin("torch").requirement == "==2.4.1"


def test_metadata_must_be_there(project):
    install(project / ".venv", "torch-2.3.1")
    (project / ".venv/lib/python3.11/site-packages/torch-2.3.1.dist-info/METADATA").unlink()
    assert target_of(project) == Target(())


def test_an_environment_that_the_project_rules_out_is_another_project_s(project, tmp_path, monkeypatch):
    install(tmp_path / "active", "torch-2.13.0")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    (project / "requirements.txt").write_text("torch==2.1.0\n")
    assert target_of(project).pin("torch") == Pin("torch", "==2.1.0", "requirements.txt")
    install(project / ".venv", "torch-2.12.0", "torchvision-0.27.0")
    assert target_of(project).pin("torch") == Pin("torch", "==2.1.0", "requirements.txt")
    assert target_of(project).pin("torchvision").minors == ((0, 16),)  # the one that belongs to torch 2.1
    (project / "requirements.txt").write_text("torch>=2.1.0\n")
    assert target_of(project).pin("torch") == Pin("torch", "==2.12.0", "installed in .venv")


LOCKED = {
    "uv.lock": '[[package]]\nname = "torchmetrics"\nversion = "1.0"\n\n[[package]]\nname = "torch"\nversion = "2.4.1+cu121"\n',
    "poetry.lock": '[[package]]\nname = "torch"\nversion = "2.4.1"\ndescription = ""\n',
    "pdm.lock": '[[package]]\nname = "torch"\nversion = "2.4.1"\nrequires_python = ">=3.8"\n',
    "Pipfile.lock": '{\n    "default": {\n        "torch": {\n            "hashes": [\n                "sha256:0"\n'
    '            ],\n            "version": "==2.4.1"\n        }\n    }\n}\n',
}
WRITTEN = {
    "requirements.txt": "numpy\ntorch==2.4.1  # why\ntorchvision\n",
    "requirement.txt": "torch == 2.4.1\n",
    "py3_requirements_gpu.txt": "\ufefftorchvision\r\ntorch==2.4.1\r\n",
    "env_train.yml": "dependencies:\n  - python=3.8\n  - pytorch==2.4.1\n",
    "requirements_list.txt": "# packages in environment\ntorch                2.4.1+7f73f1d     pypi_0    pypi\n",
    "environment_gpu.yaml": "dependencies:\n  - pip:\n      - torch==2.4.1\n",
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
    found = target_of(project)
    assert (found.version, found.pin("torch").source) == ((2, 4), name)


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
    assert target_of(project).version == newest


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
    assert target_of(project).pin("torch").requirement == ""


INSTRUCTIONS = {
    "Dockerfile": "FROM nvidia/cuda:11.3\nRUN pip install torch==2.4.1+cu121 torchvision==0.19.1 \\\n && ls\n",
    "DockerfileTraining": "RUN pip install -U 'torch>=2.4,<2.5'\n",
    "gpu.dockerfile": "FROM pytorch/pytorch:2.4.1-cuda12.1-cudnn9-runtime\n",
    "README.md": "## Setup\n```\nconda install pytorch=2.4.1 torchvision -c pytorch\n```\n",
    "readme.rst": "``pip3 install torch==2.4.*``\n",
}


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_what_people_are_told_to_install(project, name):
    (project / name).write_text(INSTRUCTIONS[name])
    assert str(target_of(project).pin("torch")) == f"torch 2.4 ({name})"
    (project / "setup.py").write_text('setup(install_requires=["torch==2.2.0"])\n')
    assert target_of(project).pin("torch").source == "setup.py"


@pytest.mark.parametrize(
    "text",
    [
        "pip install torch\n",
        "pip install torch-scatter==2.1.1 -f https://host/whl/torch-1.12.1+cu113.html\n",
        "pip install my-torch==1.9\n",
        "premortem lint --torch=2.4\n",
        "lightning-utilities==0.9\n",
        "torch 12.5% faster\n",
    ],
)
def test_what_a_readme_says_besides(project, text):
    (project / "README.md").write_text(text)
    assert target_of(project) == Target(())


@pytest.mark.parametrize(
    ("text", "requirement"),
    [
        ("- PyTorch 1.7.1\n", "==1.7.1"),
        ("[PyTorch](https://pytorch.org) >= 1.4\n", ">=1.4"),
        ("`torch` version 1.8 was used in the paper\n", "==1.8.*"),
        ("PyTorch v1.9 or later\n", ">=1.9"),
        ("pip3 install torch===1.2.0 torchvision===0.4.0\n", "===1.2.0"),
    ],
)
def test_what_a_readme_says_to_people(project, text, requirement):
    (project / "README.md").write_text(text)
    pin = target_of(project).pin("torch")
    assert (pin.requirement, pin.advice) == (requirement, True)


@pytest.mark.parametrize(
    ("line", "requirement"),
    [
        ("torch @ https://files.example/whl/torch-2.1.0%2Bcu118-cp311-linux.whl", "==2.1.0"),
        ("torch===1.7.0+cu110", "===1.7.0+cu110"),
        ("git+https://git.example/torch.git@v2.3.1", "==2.3.1"),
    ],
)
def test_a_pin_by_its_address(project, line, requirement):
    (project / "requirements.txt").write_text(f"numpy\n{line}\n")
    assert target_of(project).pin("torch").requirement == requirement


def test_a_commit_is_no_known_version(project):
    (project / "requirements.txt").write_text("transformers @ git+https://git.example/transformers@4f1c2a9\n")
    pin = target_of(project).pin("transformers")
    assert pin.unknown
    assert pin.minors == ()
    assert not pin.assumed


def test_an_old_torch_says_that_nothing_is_new(project):
    (project / "requirements.txt").write_text("torch==1.4.0\n")
    found = target_of(project)
    assert found.pin("torchvision").newest is None
    assert found.pin("transformers").newest is None


def test_every_file_has_the_versions_of_its_own_folder(project):
    (project / "requirements.txt").write_text("torch==2.5.0\ntransformers==4.40.0\n")
    inner = project / "detection" / "lib" / "nms"
    inner.mkdir(parents=True)
    (project / "detection" / "requirement.txt").write_text("torch==0.4.0\n")
    (project / "other").mkdir()
    targets = target.Targets(project)
    assert targets.of(str(project / "train.py")).pin("torch").source == "requirements.txt"
    assert targets.of(str(project / "other" / "train.py")).version == (2, 5)
    deep = targets.of(str(inner / "build.py"))
    assert str(deep.pin("torch")) == "torch ==0.4.0 (detection/requirement.txt)"
    assert str(deep.pin("transformers")) == "transformers 4.40 (requirements.txt)"


def test_a_requirement_above_counts_more_than_a_readme_beside(project):
    (project / "requirements.txt").write_text("torch==2.5.0\n")
    (project / "model").mkdir()
    (project / "model" / "README.md").write_text("pip install torch==1.4\n")
    assert (
        target.Targets(project).of(str(project / "model" / "net.py")).pin("torch").source
        == "requirements.txt"
    )


def test_what_lies_above_the_project_says_nothing(project):
    (project.parent / "requirements.txt").write_text("torch==2.1.0\n")
    assert target_of(project) == Target(())


def test_a_folder_is_read_once_until_it_is_forgotten(project):
    targets = target.Targets(project)
    path = str(project / "train.py")
    before = targets.stamp(path)
    (project / "requirements.txt").write_text("torch==2.1.0\n")
    assert targets.stamp(path) == before
    targets.forget()
    assert targets.stamp(path) != before
    assert targets.of(path).version == (2, 1)


@pytest.mark.parametrize("name", ["requirements/base.txt", "docker/Dockerfile"])
def test_folders_that_speak_for_the_one_above(project, name):
    (project / name).parent.mkdir()
    (project / name).write_text("torch==2.1.0\n")
    assert str(target_of(project).pin("torch")) == f"torch 2.1 ({name})"


def test_a_lock_binds_more_than_a_requirement(project):
    (project / "requirements.txt").write_text("torch>=2.0\n")
    (project / "uv.lock").write_text(LOCKED["uv.lock"])
    assert target_of(project).pin("torch").source == "uv.lock"


def test_the_files_of_the_repository_above_count(project):
    (project / ".git").mkdir()
    (project / "requirements.txt").write_text("torch==2.1.0\n")
    inner = project / "src" / "model"
    inner.mkdir(parents=True)
    assert target_of(inner).version == (2, 1)


def test_other_distributions(project):
    (project / "requirements.txt").write_text(
        "pytorch-lightning==1.9.5\ntransformers>=4.40,<4.50\naccelerate==1.2.1\n"
    )
    found = target_of(project)
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
