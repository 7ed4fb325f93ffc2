# Runs first in a Python that a watched script has started: its folder was put in front of PYTHONPATH for that.
# It leaves everything as it would be without it, and then imports the `sitecustomize` that would have been imported.
# Any Python may come here, so this is written for all of them.
import os
import sys

_folder = os.path.dirname(os.path.abspath(__file__))
_order = os.environ.pop("PREMORTEM_CHILD", "")
_rest = [each for each in os.environ.pop("PYTHONPATH", "").split(os.pathsep) if each != _folder]
if any(_rest):
    os.environ["PYTHONPATH"] = os.pathsep.join(_rest)
sys.path[:] = [each for each in sys.path if each != _folder]
sys.path_importer_cache.pop(_folder, None)

_own = sys.modules.pop("sitecustomize")
_facts = _order.split("\n", 2)
try:
    if _facts[:2] == [sys.prefix, "%d.%d" % sys.version_info[:2]]:
        for _name in ("import_hook", "children"):
            _path = os.path.join(os.path.dirname(_folder), _name + ".py")
            _full = "premortem.startup." + _name  # without the package around it, which would take its time
            _module = sys.modules[_full] = type(sys)(_full)
            _module.__file__ = _path
            _module.__loader__ = type(__loader__)(_full, _path)
            _module.__spec__ = type(__spec__)(_full, _module.__loader__, origin=_path)
            _module.__loader__.exec_module(_module)
        _module.adopt(_order)
except Exception as _error:  # the process goes on unwatched, and the run says so at its end
    try:
        import json

        _place = os.path.join(json.loads(_facts[2])["folder"], "unwatched-%d.txt" % os.getpid())
        with open(_place, "w") as _file:
            _file.write("%s (%s: %s)" % (sys.executable, type(_error).__name__, _error))
    except (ImportError, LookupError, TypeError, ValueError, OSError):
        pass  # the folder of the run is gone, or the order is not one of ours

try:
    import sitecustomize  # noqa: F401 - the user's own
except ImportError as _error:
    if getattr(_error, "name", "sitecustomize") != "sitecustomize":
        raise
    sys.modules["sitecustomize"] = _own  # Python looks for it once more, and is then done with it

    class _Vanishing(type(__spec__)):
        _initializing = property(
            lambda spec: True, lambda spec, value: sys.modules.pop("sitecustomize", None)
        )

    __spec__.__class__ = _Vanishing
