"""What a secret looks like in a text: in a URL, beside its name, or by the form that its maker gives it.

All repetitions are bounded: a hostile line of a megabyte costs no more than its length.
"""

import re

# A text without any of these, in lower case, holds no secret that is recognised by its name ...
NAME_HINTS = (
    *(
        "pass pwd pw secret token key auth cred cookie bearer jwt sessi webhook otp _pat -pat pat= pat: "
        "recovery phrase mnemonic sig wandb".split()
    ),
    "basic ",
)
# ... and none that is recognised by its form without any of these.
FORM_HINTS = tuple(
    "hf_ api_org_ sk- sk_ rk_ pk_ ghp_ gho_ ghu_ ghs_ ghr_ github_ glpat- gldt- glrt- glptt- glcbt- "
    "glsoat- glft- glagent- akia asia aroa aida abia acca xox xapp- aiza ya29. gocspx- npm_ pypi- "
    "dckr_ eyj nvapi- gsk_ r8_ pplx- xai- dop_v1_ shpat_ shpss_ shpca_ shppa_ sg. hvs. hvb. dapi "
    "whsec_ lin_api_ ntn_ figd_ sbp_ rnd_ wandb_v1_ :aa".split()
)

# The makers of these let them be recognised, so that they can be.
VENDOR = re.compile(
    r"""(?x) (?<![A-Za-z0-9]) (?:
        hf_[A-Za-z0-9]{16,200} | api_org_[A-Za-z0-9]{20,200}
      | sk-(?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{16,300}
      | [srp]k_(?:live|test|prod)_[A-Za-z0-9]{10,300}
      | gh[pousr]_[A-Za-z0-9]{16,300} | github_pat_[A-Za-z0-9_]{20,300}
      | gl(?:pat|dt|rt|ptt|cbt|soat|ft|agent)-[A-Za-z0-9_-]{16,300}
      | (?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])
      | xox[abeoprs]-[A-Za-z0-9-]{10,300} | xapp-[A-Za-z0-9-]{16,300}
      | AIza[A-Za-z0-9_-]{30,100} | ya29\.[A-Za-z0-9_-]{20,500} | GOCSPX-[A-Za-z0-9_-]{20,100}
      | npm_[A-Za-z0-9]{30,100} | pypi-[A-Za-z0-9_-]{20,500} | dckr_pat_[A-Za-z0-9_-]{20,100}
      | eyJ[A-Za-z0-9_-]{6,4000}\.[A-Za-z0-9_-]{6,4000}(?:\.[A-Za-z0-9_-]{0,4000})?
      | nvapi-[A-Za-z0-9_-]{20,200} | gsk_[A-Za-z0-9]{20,200} | r8_[A-Za-z0-9]{20,100} | pplx-[A-Za-z0-9]{20,200}
      | xai-[A-Za-z0-9]{20,200} | dop_v1_[a-f0-9]{32,100} | shp(?:at|ss|ca|pa)_[A-Fa-f0-9]{20,100}
      | SG\.[A-Za-z0-9_-]{16,100}\.[A-Za-z0-9_-]{16,100} | hv[sb]\.[A-Za-z0-9_-]{20,300} | dapi[a-f0-9]{32}(?:-\d)?
      | whsec_[A-Za-z0-9+/=]{20,200} | lin_api_[A-Za-z0-9]{20,100} | ntn_[A-Za-z0-9]{30,100} | figd_[A-Za-z0-9_-]{20,100}
      | sbp_[a-f0-9]{30,100} | rnd_[A-Za-z0-9]{20,100} | wandb_v1_[A-Za-z0-9_-]{20,200}
      | [0-9]{8,10}:AA[A-Za-z0-9_-]{30,60}
    )"""
)
# Everyone who knows such an address can write there.
WEBHOOK = re.compile(
    r"(?i)(https?://(?:hooks\.slack\.com/(?:services|workflows|triggers)"
    r"|(?:\w{1,20}\.)?discord(?:app)?\.com/api(?:/v\d+)?/webhooks|[\w-]{1,80}\.webhook\.office\.com|outlook\.office\.com/webhook"
    r"|chat\.googleapis\.com/v1/spaces|[\w-]{1,40}\.logic\.azure\.com|open\.(?:feishu|larksuite)\.(?:cn|com)/open-apis/bot"
    r"|api\.telegram\.org|maker\.ifttt\.com)/)[^\s\"'<>\\]{4,2000}"
)
PEM = re.compile(
    r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)((?:(?!-----(?:END|BEGIN)).){0,20000})(-----END [A-Z0-9 ]{0,40}-----)?",
    re.DOTALL,
)
USERINFO = re.compile(
    r"(?P<scheme>(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,30}://)"
    r"(?P<user>[^\s/:@\"'<>?#]{0,300})"
    r"(?::(?P<password>[^\s\"'<>]{0,500}))?@(?=[^\s\"'<>@])"
)
# The same in a text that is nothing but a URL: it may hold quotes.
WHOLE_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,30}://)(?P<user>[^\s/:@?#]{0,300})(?::(?P<password>\S{0,500}))?@"
)
# A password may hold a slash; but https://host:8080/images@2x is a port and a path.
PORT = re.compile(r"(?:https?|wss?)://[^:]*:\d{1,5}(?:[/?#]|@?$)")
QUERY = re.compile(r"(?P<before>[?&;](?P<name>[A-Za-z][\w.-]{0,60})=)(?P<value>[^&\s\"'<>#;]{1,4000})")
QUERY_NAMES = frozenset(
    "sig signature x-amz-signature x-amz-credential x-amz-security-token x-goog-signature x-goog-credential awsaccesskeyid "
    "googleaccessid key-pair-id policy authkey code state".split()
)
BEARER = re.compile(r"(?i)\b(bearer|basic)(\s{1,4})([A-Za-z0-9._~+/=-]{8,4000})")
WANDB = re.compile(
    r"(?i)(wandb[^\n]{0,60}?(?:login|key|token|api)[^\n]{0,40}?(?<![0-9a-f]))([0-9a-f]{40})(?![0-9a-f])"
)

_NAME = r"(?P<name>(?:(?i:api|access|secret|private|auth|security)[ ])?[A-Za-z_][\w.-]{0,100})"
_QUOTED = (
    r'(?P<quoted>[rbfuRBFU]{0,2}(?:"(?P<double>(?:[^"\\\n]|\\.){0,8000})"'
    r"|'(?P<single>(?:[^'\\\n]|\\.){0,8000})'"
    r"|(?P<mark>\\{1,3}[\"'])(?P<escaped>(?:(?!(?P=mark))[^\n]){0,8000})(?P=mark)))"
)
# name = "value", "name": 'value', config["name"] = "value", name='value'
QUOTED = re.compile(
    rf"(?<![\w.])(?P<head>-{{0,2}}{_NAME}(?:\\{{0,3}}[\"'])?\]?\s{{0,4}}(?:=>|:=|=|:(?!//))\s{{0,80}}){_QUOTED}"
)
# "name", "value": os.environ.setdefault, and a command as a list
LISTED = re.compile(rf"(?<![\w.])(?P<head>[\"']-{{0,2}}{_NAME}[\"']\s{{0,4}},\s{{0,40}}){_QUOTED}")
# The password "value" was refused.
SAID = re.compile(
    rf"(?P<head>(?<![\w.])(?P<name>(?i:password|passphrase|secret|(?:api|secret|private|access)[ _-]?key|(?:access|auth|api)[ _-]?token))\s{{1,4}}(?:(?:is|was|of)\s{{1,4}})?){_QUOTED}"
)
DEFAULT = re.compile(
    rf"(?P<head>add_argument\(\s{{0,40}}[\"']-{{0,2}}{_NAME}[\"'][^()]{{0,300}}?\bdefault\s{{0,4}}=\s{{0,4}}){_QUOTED}"
)
# name=value, name: value, --name value; to the end of the word
BARE = re.compile(
    rf"(?<![\w.])(?P<head>-{{0,2}}{_NAME}\\{{0,3}}[\"']?\]?\s{{0,4}}(?:=>|:=|=|:(?!//))[ \t]{{0,80}}"
    rf"|--(?P<option>[A-Za-z][\w.-]{{0,100}})[ \t]{{1,80}}(?!-))"
    r"(?P<bare>(?:(?i:bearer|basic|token|digest|negotiate|apikey)[ \t]{1,4})?(?![rbfuRBFU]{1,2}[\"'])(?![\"'\s=\[{(\\])[^\s\"']{1,4000})"
)
COOKIE = re.compile(r"(?P<head>(?<![\w.])(?i:(?:set-)?cookie)\s{0,4}:\s{0,4})(?P<bare>[^\n\"']{1,8000})")
ELEMENT = re.compile(r"(?P<head><(?P<name>[A-Za-z_][\w.-]{0,100})>)(?P<bare>[^<\n]{1,4000})(?=</)")
# What a sentence says after the name of a secret.
PROSE = re.compile(
    r"(?i)(?:expected|is|are|was|were|must|should|shall|may|can|cannot|could|not|no|required|missing|invalid|unexpected|the|a|an"
    r"|this|that|to|in|on|of|for|from|with|and|or|use|used|uses|set|please|see|field|value|given|provided|too|wrong|incorrect|authentication"
    r"|mismatch|unknown|expired|has|have|had|will|would|if|when|at|by|it|its|you|your|we|which|does|did|do|only|be|been|string)[.,;:!?]?"
)
# In code, what stands for a value: a call, an attribute, an element.
EXPRESSION = re.compile(
    r"(?:self|cls|args|cfg|config|conf|opt|opts|options|os|settings|params|hparams|FLAGS|kwargs)\b[\w.\[\]\"'()]{0,400}[,):;]{0,4}"
    r"|[A-Za-z_]\w{0,100}(?:\.[A-Za-z_]\w{0,100}){0,8}[(\[].{0,400}"
)
