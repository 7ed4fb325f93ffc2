import os
import sys
from helpers import model
print(os.path.basename(sys.path[0]), os.path.basename(os.getcwd()), sys.argv, __file__.endswith("scripts/train.py"))
print(model())
