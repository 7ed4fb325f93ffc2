import torch
from . import missing
