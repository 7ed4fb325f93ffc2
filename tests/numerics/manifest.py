"""The planted numerics faults and their clean controls.

`manifest.json` has one line for each script. `step` counts the calls of any optimizer's step, from 1, and is the one in
which the first non-finite value is born; `line` is that of the operation, `op` the spellings that are right, `stage`
forward, backward, update or data (born before torch saw it: no op, no line), `sample` the index in the batch where it is
one sample; `source` the file that has the line, when that is not the script. A clean script has a file and nothing else.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
_PATHS = {"path": "file", "source": "source"}


def entries(only: str = "") -> list[dict[str, Any]]:
    found = json.loads((HERE / "manifest.json").read_text(encoding="utf-8"))
    return [
        {**entry, **{key: str(HERE / entry[name]) for key, name in _PATHS.items() if name in entry}}
        for entry in found
        if only in entry["file"]
    ]


def plain(op: str) -> str:
    """`aten::_softmax.default`, `SoftmaxBackward0` and `softmax_` are all `softmax`."""
    name = re.sub(r"^aten(::|\.)|^torch\.|\.\w+$", "", op)
    name = re.sub(r"Backward\d*$", "", name).strip("_")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().removeprefix("foreach_")
