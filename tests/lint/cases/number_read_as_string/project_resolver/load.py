import re

import yaml

loader = yaml.SafeLoader
loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?[0-9.]+[eE][-+]?[0-9]+$"),
    list("-+0123456789."),
)


def read(path):
    return yaml.load(open(path), Loader=loader)
