import yaml
from pydantic import BaseModel


class Settings(BaseModel):
    lr: float


def read(path):
    return Settings(**yaml.safe_load(open(path)))
