"""The environment of a script that runs apart: premortem can be imported, and nothing is sent anywhere."""

import os
from collections.abc import Mapping
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[2])

# A tracker that is off answers every call and keeps nothing. Each by the variable that its own documentation names.
TRACKERS_OFF = {
    "WANDB_MODE": "disabled",
    "WANDB_SILENT": "true",
    "COMET_MODE": "disabled",
    "NEPTUNE_MODE": "debug",
    "CLEARML_OFFLINE_MODE": "1",
    "SWANLAB_MODE": "disabled",
    "TRACKIO_MODE": "disabled",
    "AIM_UI_TELEMETRY_ENABLED": "0",
    "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "CODECARBON_API_CALL": "false",
    "DO_NOT_TRACK": "1",
}


def environment(scratch: Path, more: Mapping[str, str]) -> dict[str, str]:
    inherited = os.environ.get("PYTHONPATH", "")
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [_PACKAGE, inherited])),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PREMORTEM_CAPSULE_MIB": "0",
        "MLFLOW_TRACKING_URI": (scratch / "tmp" / "mlruns").as_uri(),
        **TRACKERS_OFF,
        **more,
    }
