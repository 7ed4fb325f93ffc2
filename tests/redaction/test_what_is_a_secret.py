"""What is taken for a secret, and what is not: both sides, side by side."""

import time

import pytest

from premortem.redaction import HIDDEN, Redactor, restored
from premortem.redaction.names import hides

S = "Zq8vT3xLp0"

SECRET_SETTINGS = [
    ("--api-key", "X"),
    ("--wandb-token", "X"),
    ("--password", "X"),
    ("--password", "12345"),
    ("--password", "-x9-"),
    ("NAME_KEY", "abc123"),
    ("wandb.api_key", "x"),
    ("+trainer.token", "abc123defX"),
    ("DB_PASS", "hunter2"),
    ("--pass", "hunter2"),
    ("smtp_pass", "q"),
    ("MYSQL_PWD", "q"),
    ("AWS_SECRET_ACCESS_KEY", "/q+x"),
    ("AWS_ACCESS_KEY_ID", "q"),
    ("apiKey", "q"),
    ("clientSecret", "q"),
    ("dbpassword", "q"),
    ("x-api-key", "q"),
    ("hf_token", "q"),
    ("AccountKey", "q"),
    ("token", "hunter2hunter2"),
    ("sort_key", "s3cr3tV4lue"),
    ("Authorization", "Bearer q"),
    ("DB_PASSWORD_PROD", "q"),
    ("openai_key", "q"),
    ("use_auth_token", "abc12345x"),
    ("github_pat", "q"),
    ("SECRET_KEY_BASE", "q"),
    ("password2", "q"),
    ("api_keys", "abc123abc"),
]
HARMLESS_SETTINGS = [
    ("--tokenizer", "bert-base"),
    ("--keyframes", "30"),
    ("--num-tokens", "512"),
    ("--key-dim", "64"),
    ("max_tokens", "512"),
    ("user_tokens", 512),
    ("tokens_per_batch", "4096"),
    ("pass_rate", "0.5"),
    ("n_pass", "3"),
    ("forward_pass", "x"),
    ("secretary.csv", "x"),
    ("key", "label"),
    ("key", "5"),
    ("key_padding_mask", "x"),
    ("image_key", "pixel_values"),
    ("label_key", "coarse_label_2"),
    ("model_key", "resnet50d"),
    ("monitor_key", "val/acc1"),
    ("SORT_KEY", "date"),
    ("public_key", "abcd1234efgh5678"),
    ("pad_token", "[PAD]"),
    ("eos_token", "</s>"),
    ("cls_token", 0.5),
    ("token", "the"),
    ("token", "512"),
    ("token_file", "a.txt"),
    ("use_auth_token", "True"),
    ("password", ""),
    ("password", None),
    ("password", True),
    ("credentials", "svc.json"),
    ("secret_dir", "x1y2z3"),
    ("PWD", "/data/abc123def456ghi"),
    ("SSH_AUTH_SOCK", "/tmp/ssh-a1b2c3d4/agent.1"),
    ("TOKENIZERS_PARALLELISM", "false"),
    ("author", "Jane Doe 123abc"),
    ("compass", "north1"),
    ("bypass", "abc123"),
    ("monkey", "abc1d2e3f4"),
    ("--patience", "10"),
]


@pytest.mark.parametrize(("name", "value"), SECRET_SETTINGS)
def test_a_secret_setting(name, value):
    assert hides(name, value)


@pytest.mark.parametrize(("name", "value"), HARMLESS_SETTINGS)
def test_a_harmless_setting(name, value):
    assert not hides(name, value)


TEXTS = [
    "password={}",
    "Namespace(api_key='{}', lr=0.1)",
    '{{"password": "{}", "lr": 1}}',
    "{{'db': {{'passwd': '{}'}}}}",
    "postgres://u:{}@h/db",
    "postgres://u:{}/x@h:5432/db",
    "postgres://u:p@{}@h/db",
    "redis://:{}@h:6379/0",
    "could not connect to https://{}@host/x",
    "Authorization: Bearer {}",
    "Authorization: Basic dXNlcjpwYXNz{}",
    "x-api-key: {}",
    "Cookie: a=1; b={}",
    "GET https://h/p?x=1&sig={}&y=2",
    "https://b.s3.amazonaws.com/k?X-Amz-Signature={}&X-Amz-Expires=3",
    "https://h/x?access_token={}",
    "run --password {} --lr 3",
    "['train.py', '--password', '{}', '--lr', '3']",
    'os.environ["WANDB_API_KEY"] = "{}"',
    "os.environ.setdefault('HF_TOKEN', '{}')",
    'wandb.login(key="{}")',
    'login(token=r"{}")',
    'p.add_argument("--api-key", type=str, default="{}")',
    'PASSWORD = "a\\"{}"',
    "export DB_PASSWORD={}",
    "AccountName=x;AccountKey={};EndpointSuffix=y",
    'The password "{}" was refused',
    "The secret key is '{}'",
    "https://hooks.slack.com/services/T000/B000/{}",
    "https://discord.com/api/webhooks/123/{}",
    '\\"token\\": \\"{}\\"',
    "<password>{}</password>",
    "api key: {}",
    "passwd={},user=x",
    "secret={})",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n{}\n-----END RSA PRIVATE KEY-----",
]
FORMS = [
    "hf_abcdefghijABCDEFGHIJ0123",
    "sk-proj-abc123def456ghi789jkl",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "github_pat_11ABCDEFG0123456789_abcdefghij",
    "glpat-abcdefghij0123456789",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-123456789012-abcdefGH",
    "AIzaSyA0123456789abcdefghijABCDEFGHIJ01",
    "npm_0123456789abcdefghijABCDEFGHIJ0123",
    "pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAw",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
]
HARMLESS_TEXTS = [
    "epoch 3/10 train loss 0.52 tokens/s 1234",
    "KeyError: 'token'",
    "error: argument --password: expected one argument",
    "max_tokens=512, key_dim=64, num_tokens: 4096",
    "tokenizer: bert-base-uncased",
    "key: value",
    "http://host:8080/path@2x.png",
    "see https://example.org/a?page=3&q=key",
    "pad_token='<pad>', eos_token=\"</s>\"",
    'password authentication failed for user "u"',
    "def forward(self, key: Tensor, token: Optional[str] = None):",
    "token = tokenizer.encode(text)",
    "key = self.key(x)",
    "password = args.password",
    "api_key=os.environ['WANDB_API_KEY']",
    "invalid token: unexpected end",
    "assert key in state_dict, f'missing key: {key}'",
    "missing keys: ['a.key', 'b.token']",
    "--token TOKEN  the access token",
    "secretary.csv: 5 rows",
    "git@github.com:x/y.git",
    "ssh://me@host/x",
    "pass 3 of 10: loss=0.5",
    "Basic usage of the module",
    "attn.key: torch.Size([3, 4])",
    "patch_token: 16",
    "sort(key=lambda x: x.a)",
    "key=operator.itemgetter(1)",
    "dict(key='label', name='x')",
    "AsiaPacific region; asia",
    "risk-averse-learning-rate-schedule",
    "epoch: 5 pass: 3 key: 7",
    "for option in ('--api-key', '--wandb-token', '--password', '--database'):",
    "headers['authorization'] = f'Bearer {token}'",
    "out.table(rows, id_key='revision')",
    "columns = ['password', 'email_address', 'secret', 'user_name']",
    "commit 0123456789abcdef0123456789abcdef01234567",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_with_a_secret(text):
    shown = Redactor().text(text.format(S))
    assert S not in shown
    assert HIDDEN in shown


@pytest.mark.parametrize("form", FORMS)
def test_a_token_of_a_known_form(form):
    assert Redactor().text(f"I got {form}, and no more") == f"I got {HIDDEN}, and no more"


@pytest.mark.parametrize("text", HARMLESS_TEXTS)
def test_a_harmless_text_stays_as_it_is(text):
    assert Redactor().text(text) == text


def test_a_key_of_wandb_is_known_beside_its_name_alone():
    key = "0123456789abcdef0123456789abcdef01234567"
    assert key not in Redactor().text(f"wandb: login with {key}")
    assert key in Redactor().text(f"at commit {key}")


def test_what_was_recognised_once_is_known_everywhere():
    ours = Redactor()
    ours.argv(["train.py", "--password", "correct-horse's"])
    ours.argv(["postgres://u:p%40ss%2Fword@h"])
    ours.learn_url("amqp://u:p1q2w3e4@h1,amqp://v:it's-q1w2@h2")
    ours.learn_environment({"MY_TOKEN": "swordfishy", "HOME": "/home/jane", "DSN": "https://me:aXbYcZ9@h"})
    for text in (
        "refused: correct-horse's",
        repr({"x": 'a"', "y": "correct-horse's"}),
        "login as u with p@ss/word failed",
        "swordfishy!",
        "p1q2w3e4",
        "it's-q1w2",
        "Basic bWU6YVhiWWNaOQ==",
        "aXbYcZ9",
    ):
        assert HIDDEN in ours.text(text), text
    assert ours.text("/home/jane/swordfishyness") == "/home/jane/swordfishyness"


def test_a_short_or_common_word_is_hidden_beside_its_name_alone():
    ours = Redactor()
    assert ours.argv(["--password", "test", "--secret", "training"]) == [
        "--password",
        HIDDEN,
        "--secret",
        HIDDEN,
    ]
    assert ours.text("test accuracy of the training") == "test accuracy of the training"


def test_a_command_line():
    words = "train.py --api-key X --lr 1e-3 --wandb-token=Y --tokenizer bert db=postgres://u:pw1234@h +a.api_key=Z --key-dim 64"
    assert (
        Redactor().argv(words.split())
        == (
            f"train.py --api-key {HIDDEN} --lr 1e-3 --wandb-token={HIDDEN} --tokenizer bert db=postgres://u:{HIDDEN}@h "
            f"+a.api_key={HIDDEN} --key-dim 64"
        ).split()
    )


def test_an_option_that_was_given_no_value():
    assert Redactor().argv(["--password", "--lr", "3"]) == ["--password", "--lr", "3"]


def test_a_record():
    shown = Redactor().record(
        {
            "argv": ["train.py", "--token", "abc123abc"],
            "lr": 0.1,
            "db": {"password": "x", "port": 5432, "user": "jane"},
            "secrets": ["one", {"deep": "two"}],
            "password": 1234,
            "settings": [{"name": "api_key", "value": "z"}, {"name": "lr", "value": "3"}],
            "max_tokens": 512,
            "url": "s3://k:v1v2v3@bucket",
        }
    )
    assert shown == {
        "argv": ["train.py", "--token", HIDDEN],
        "lr": 0.1,
        "db": {"password": HIDDEN, "port": 5432, "user": "jane"},
        "secrets": [HIDDEN, {"deep": HIDDEN}],
        "password": HIDDEN,
        "settings": [{"name": "api_key", "value": HIDDEN}, {"name": "lr", "value": "3"}],
        "max_tokens": 512,
        "url": f"s3://k:{HIDDEN}@bucket",
    }


YAML = """\
lr: 0.1
password: correct horse, battery # prod
db:
  credentials:
    user: jane
    pw: x y
  port: 5432
tokens_per_batch: 4096
api_keys:
- aaa111bbb222
- "ccc333ddd444"
key: label
key_file: |
  a
secret: |
  line one
  line two
epochs: 3
"""
SHOWN_YAML = """\
lr: 0.1
password: [hidden]
db:
  credentials:
    user: [hidden]
    pw: [hidden]
  port: 5432
tokens_per_batch: 4096
api_keys:
- [hidden]
- "[hidden]"
key: label
key_file: |
  a
secret: |
  [hidden]
  [hidden]
epochs: 3
"""


def test_a_file_of_settings():
    shown = Redactor().source(YAML, "conf/run.yaml")
    assert shown == SHOWN_YAML


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".env", "DB_PASSWORD=a,b(c d\n"),
        ("x.ini", "[credentials]\nuser = a,b(c d\n[train]\nlr = 3\n"),
        ("x.toml", 'wandb.api_key = "a,b(c d"\nlr = 3\n'),
        ("x.json", '{\n "auth": {\n  "password": "a,b(c d"\n },\n "lr": 3\n}\n'),
        ("x.py", 'API_KEY = "a,b(c d"\n'),
        ("x.py", 'wandb.login(\n    key=None, api_key=\n    "a,b(c d")\n'),
    ],
)
def test_files(name, text):
    shown = Redactor().source(text, f"/x/{name}")
    assert "a,b(c d" not in shown
    assert shown.count("\n") == text.count("\n")
    assert ("lr" in shown) == ("lr" in text)


def test_code_that_names_secrets_stays_code():
    code = "password: str = args.password\nkey = load(token)\nif token == other_token_2b3c:\n    pass\n"
    assert Redactor().source(code, "train.py") == code


def test_what_is_hidden_comes_back_from_the_environment():
    words = [
        "train.py",
        "--wandb-token",
        HIDDEN,
        f"--db.password={HIDDEN}",
        "--lr",
        "3",
        f"+a.api_key={HIDDEN}",
    ]
    environment = {"WANDB_TOKEN": "t", "A_API_KEY": "k"}
    assert restored(words, environment) == [
        "train.py",
        "--wandb-token",
        "t",
        f"--db.password={HIDDEN}",
        "--lr",
        "3",
        "+a.api_key=k",
    ]


def test_twice_is_once():
    ours = Redactor()
    for text in TEXTS:
        once = ours.text(text.format(S))
        assert ours.text(once) == once


@pytest.mark.parametrize(
    "line",
    [
        "a://" * 10_000,
        "password=" * 50_000,
        "'" * 200_000,
        "--key " * 50_000,
        "x" * 400_000 + ".",
        "\\" * 200_000,
    ],
)
def test_a_hostile_line_costs_no_more_than_its_length(line):
    short, long = line[: len(line) // 4], line
    seconds = []
    for text in (short, long):
        began = time.process_time()
        Redactor().text(f"password {text}")
        seconds.append(time.process_time() - began)
    assert seconds[1] < 12 * max(seconds[0], 0.02)
