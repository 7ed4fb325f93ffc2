import argparse

import yaml

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--weight-decay", type=float)
parser.set_defaults(**yaml.safe_load(open("config.yaml")))
