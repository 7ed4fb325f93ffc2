"""Whether a setting is a secret: what its name says, and where that is not enough, what its value looks like.

    --password X, wandb.api_key=X, DB_PASSWD=X          SURE     whatever the value is
    --token X, NAME_KEY=X, MAIL_PASS=X                  LIKELY   but not a number, a switch or a short word
    key: X, cache_key=X                                 MAYBE    only what no person would choose as a name
    --tokenizer X, --key-dim 64, max_tokens, pass_rate  NO

The last word of a name says what it is: `token_file` is a file, `key_dim` a size, `pass_rate` a rate.
"""

import functools
import re
from enum import IntEnum
from typing import Any


class Level(IntEnum):
    NO = 0
    MAYBE = 1
    LIKELY = 2
    SURE = 3


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_SURE = _set(
    "password passwords passwd passwds passphrase passphrases passcode passcodes pword pwd pw userpass secret secrets credential "
    "credentials creds cred apikey apikeys authorization cookie cookies bearer jwt sessionid phpsessid csrftoken mnemonic"
)
# `clientsecret`, `dbpassword`, `rootpw`: written in one word.
_SURE_ENDS = ("password", "passwd", "passphrase", "secret", "apikey", "secretkey", "accesskey", "privatekey")
_TOKEN_ENDS = ("authtoken", "accesstoken", "apitoken", "refreshtoken", "bottoken", "bearertoken", "hftoken")
# Whose key or token it is: these have accounts.
_ACCOUNTS = _set(
    "access account admin aliyun anthropic api apis app application artifactory auth aws azure b2 backend backup bearer bot "
    "client cloud cloudflare cohere comet consumer databricks datadog deepl deepseek deploy deployment digitalocean discord "
    "docker dockerhub elastic elevenlabs encryption fireworks gcp gemini gh git gitea github gitlab google grafana groq hf "
    "hub huggingface id identity ingest jira jwt kaggle labelbox login mailgun master mapbox mistral mlflow modal mongo "
    "mongodb neptune newrelic ngc ngrok notion npm nvidia oauth okta openai openrouter pagerduty perplexity personal pinecone "
    "postman private pypi qdrant refresh registry replicate roboflow root rsa runpod s3 sas secret security sendgrid "
    "sentry server service session shared shopify signing slack snyk sonar ssh storage stripe subscription "
    "supabase tavily telegram twilio upload user vast vault vercel voyage wandb weaviate webhook clearml xai zapier zendesk"
)
_LOGINS = _set(
    "account admin app auth basic database db email ftp git http imap ldap login mail mongo mongodb mysql pg pgsql postgres "
    "postgresql proxy rabbitmq redis repo root s3 server service sftp smtp sql ssh sudo user vnc vpn wifi"
)
# What a model or a table calls token, pass or key.
_MODEL_TOKENS = _set(
    "action added audio begin bos byte char class cls completion control conv cond count current decoder draft empty end "
    "encoder eod eol eom eos eot expert extra fim first forced frame ignore im image img init initial initializer input instance "
    "lang language last left mask max media memory min model motion n new newline next null num object oov output pad padding "
    "patch per period placeholder point pooling position prefix prev previous prompt query reasoning register reserved response "
    "right role scene sep seq separator sos source space special speaker speech start state stop style sub suffix target task "
    "text thinking time tool top total train trigger turn type unk unknown unseen usage val video vision visual vocab "
    "vocabulary vocoder word"
)
_MODEL_PASSES = _set(
    "all allow backward band both by current data did does each encoder epoch eval extra final first forward full high last "
    "low max min model multi multiple n next no num number once one per rate refinement render second single test third to "
    "train training two val warmup will"
)
_KEPT_IN_FILES = _set("pwd credential credentials creds cred secret secrets")
_PUBLIC_KEYS = _set("public pub primary foreign hot keyboard any arrow")
# Words that may follow the name of a secret.
_STILL = _set(
    "backup b base bytes current decoded default dev encoded encrypted env hash hashed hex main new old plain plaintext primary "
    "prod production raw salt secondary staging string test val value values"
)
_NO_VALUE = re.compile(
    r"(?i)true|false|yes|no|on|off|none|null|nil|auto|prompt|ask|required|optional|enabled|disabled|unset|empty"
    r"|\.{2,}|…|\*+|x{3,}|-+|\[hidden\]|<left out>|\W?(?:redacted|masked)\W?"
)
# A place for a value, or the name of a type: in a template, in code, and the special tokens of a vocabulary.
_TEMPLATE = re.compile(
    r"""(?x) <[^<>]{0,60}> | \[[A-Z_]{1,20}\] | \$[A-Z_][A-Z0-9_]* | \$\{[^{}]{0,80}\} | \$\([^()]{0,80}\) | %\(\w+\)s | %\w+%
      | \{[A-Za-z_][\w.:!]{0,80}\} | \{\{[^{}]{0,80}\}\} | (?:oc\.)?env[:.]\S{0,80} | !env\ ?\S{0,80}
      | (?:typing\.)?(?:str|int|float|bytes|bool|Any|Optional|Union|SecretStr|Tensor|Callable)(?:[\[|].{0,40})? """
)
_NUMBER = re.compile(r"[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_SHORT_WORD = re.compile(r"[A-Za-z]{0,8}|(?i:kerberos|negotiate|anonymous|certificate)")
_FILE = re.compile(
    r"(?i)[^\s@:;,=&?]{1,200}\.(?:json|ya?ml|toml|txt|pem|key|crt|cer|p12|pfx|env|ini|cfg|csv|py|pt|npz?|h5|parquet|db)"
)
_PATH = re.compile(r"(?:~|\.{1,2})?/(?:[\w.+@~ -]+/)*[\w.+@~ -]*")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[a-z]+")
_PART = re.compile(r"[A-Za-z0-9+=$!%^&*]+")
_TURN = re.compile(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")
_HEX = re.compile(r"[0-9a-fA-F]{20,}")


def words(name: str) -> list[str]:
    """`wandb.apiKey2` → wandb, api, key"""
    return [word.lower() for word in _WORDS.findall(name)]


@functools.lru_cache(maxsize=4096)
def level(name: str) -> Level:
    """What a name alone says."""
    if name in {"PWD", "OLDPWD"}:  # the shell's: where one is
        return Level.NO
    parts = words(name)
    while len(parts) > 1 and parts[-1] in _STILL:
        parts.pop()
    if not parts:
        return Level.NO
    last, before = parts[-1], parts[-2] if len(parts) > 1 else ""
    if last == "id" and parts[-3:-1] == ["access", "key"]:  # AWS_ACCESS_KEY_ID
        return Level.SURE
    if last in {"header", "headers"} and before in {"auth", "authorization"}:
        return Level.SURE
    if last in {"url", "uri"} and before == "webhook":
        return Level.SURE
    if last in {"phrase", "code", "codes"} and before in {"seed", "recovery", "pass"}:
        return Level.SURE
    if last in _SURE or last.endswith(_SURE_ENDS) or last.endswith(_TOKEN_ENDS) or last == "webhook":
        return Level.SURE
    return _by_owner(name, last, before)


def _by_owner(name: str, last: str, before: str) -> Level:
    """`token`, `key`, `pass`, `auth` and `pat` are secrets or not by whose they are."""
    if last in {"token", "tokens"}:
        if before in _MODEL_TOKENS:
            return Level.NO
        if last == "tokens":  # mostly they are counted
            return Level.LIKELY if before in _ACCOUNTS else Level.NO
        return Level.SURE if before in _ACCOUNTS else Level.LIKELY
    if last in {"key", "keys"}:
        if before in _PUBLIC_KEYS:
            return Level.NO
        if before == "id":  # the column
            return Level.MAYBE
        if last == "key" and before in _ACCOUNTS:
            return Level.SURE
        return Level.LIKELY if before in _ACCOUNTS or (before and name.isupper()) else Level.MAYBE
    if last == "pass":
        if before in _MODEL_PASSES:
            return Level.NO
        return Level.SURE if before in _LOGINS else Level.LIKELY
    if last in {"auth", "otp", "totp"}:
        return Level.LIKELY
    if last == "pat":
        return Level.SURE if before in _ACCOUNTS else Level.MAYBE
    return Level.NO


def hides(name: str, value: Any, *, literal: bool = True) -> bool:
    """Whether this value of this setting is a secret. Not `literal`: it stands in a text, which may be code."""
    found = level(name)
    if found is Level.NO or value is None or isinstance(value, bool):
        return False
    text = str(value).strip()
    last = words(name)[-1]
    counts = last in {"token", "tokens", "key", "keys"}  # or are numbers of words and columns
    if _NUMBER.fullmatch(text):
        return found is Level.SURE and (not counts or len(text) >= 12)
    if not text or isinstance(value, (int, float)) or _NO_VALUE.fullmatch(text):
        return False
    if (found is not Level.SURE or not literal) and _TEMPLATE.fullmatch(text):
        return False
    if _FILE.fullmatch(text) and not looks_random(text):
        return False
    if found is Level.SURE:
        return not (last in _KEPT_IN_FILES and _PATH.fullmatch(text))
    if found is Level.LIKELY:
        return not (_SHORT_WORD.fullmatch(text) or _is_path(text) or " " in text)
    return looks_random(text)


def _is_path(text: str) -> bool:
    several = text.count("/") > 1 or text.startswith(("~", "."))
    return several and bool(_PATH.fullmatch(text)) and not looks_random(text)


def looks_random(text: str) -> bool:
    """Nothing that a person would choose as a name: letters and digits change too often, or go on for too long."""
    if any(char.isspace() for char in text):
        return False
    if _HEX.fullmatch(text.replace("-", "")) and any(char.isdigit() for char in text):
        return True
    for part in _PART.findall(text):
        turns = len(_TURN.findall(part))
        if turns >= 3 or (turns and len(part) >= 16):
            return True
    return False
