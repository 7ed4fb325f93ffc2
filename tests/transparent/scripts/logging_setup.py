"""Logging with file names and lines."""
import logging
import sys
import torch
logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(filename)s:%(lineno)d %(funcName)s %(message)s")
class Net(torch.nn.Module):
    def forward(self, x):
        logging.warning("inside %s", tuple(x.shape))
        logging.getLogger("net").error("level", stacklevel=2)
        return x
Net()(torch.ones(2))
print(logging.root.handlers.__len__(), sorted(name for name in logging.root.manager.loggerDict if "premortem" in name))
