"""A script without torch."""
import json
import sys
print(json.dumps({"argv": sys.argv[1:]}), "torch" in sys.modules)
