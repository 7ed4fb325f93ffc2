import yaml

from trainer import Trainer

Trainer(yaml.safe_load(open("config.yaml"))).run()
