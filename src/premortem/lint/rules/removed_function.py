import ast
from collections.abc import Iterator

from premortem.lint import drift, signatures
from premortem.lint.drift import spelled
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.signatures import Minor
from premortem.lint.target import Pin

# Gone before the oldest release in the tables, or private but widely used: name → the first release without it.
GONE_EARLY: dict[str, Minor] = {
    "torch._six": (2, 0),
    "torch.rfft": (1, 8),
    "torch.irfft": (1, 8),
    "torch.ifft": (1, 8),
    "torch.gels": (1, 5),
    "torch.btrifact": (1, 2),
    "torch.btrisolve": (1, 2),
    "torch.potrf": (1, 2),
    "torch.potri": (1, 2),
    "torch.potrs": (1, 2),
    "torch.pstrf": (1, 2),
    "torch.trtrs": (1, 5),
    "torch.utils.ffi": (1, 0),
    "torch.legacy": (1, 0),
    "torchvision.models.utils": (0, 13),
}
INSTEAD = {
    "torch._six": "Import `inf` from `math` or `torch`, use `str` for `string_classes` and `collections.abc` for `container_abcs`.",
    "torch.symeig": "Use `torch.linalg.eigh`; it reads the lower triangle unless `UPLO='U'` is given.",
    "torch.eig": "Use `torch.linalg.eig`; its result is complex.",
    "torch.solve": "Use `torch.linalg.solve(A, B)`: the arguments change places.",
    "torch.lstsq": "Use `torch.linalg.lstsq(A, B)`: the arguments change places.",
    "torch.matrix_rank": "Use `torch.linalg.matrix_rank`.",
    "torch.cholesky": "Use `torch.linalg.cholesky`; with `upper=True` take `.mH` of its result.",
    "torch.qr": "Use `torch.linalg.qr`; `some=False` is `mode='complete'`.",
    "torch.gels": "Use `torch.linalg.lstsq(A, B)`.",
    "torch.trtrs": "Use `torch.linalg.solve_triangular`.",
    "torch.potrf": "Use `torch.linalg.cholesky`.",
    "torch.rfft": "Use `torch.fft.rfft` or `torch.fft.fft`; they return complex tensors.",
    "torch.irfft": "Use `torch.fft.irfft` or `torch.fft.ifft`; they take complex tensors.",
    "torch.ifft": "Use `torch.fft.ifft`; it takes and returns complex tensors.",
    "torch.distributed.all_reduce_multigpu": "Use one process for each GPU and `all_reduce`.",
    "torch.onnx.dynamo_export": "Use `torch.onnx.export(..., dynamo=True)`.",
    "torch.export.export_for_training": "Use `torch.export.export`.",
    "torchvision.models.utils": "Import `load_state_dict_from_url` from `torch.hub`.",
    "torchvision.transforms.functional_tensor": "Use `torchvision.transforms.functional`.",
    "transformers.AdamW": "Use `torch.optim.AdamW`.",
    "transformers.optimization.AdamW": "Use `torch.optim.AdamW`.",
}


class RemovedFunction(Rule):
    """The code calls or imports what the installed version no longer has.

    ## Why it matters
    The import fails, or the call raises AttributeError, or RuntimeError from a stub that torch left behind. The import
    is noticed at once; a call in a rare branch is not.

    ## Usual causes
    Code that is older than the environment: a tutorial, a repository that was written for torch 1.x.

    ## What to do
    Use the replacement the message names, or install the version the code was written for. Say which version that is
    in a requirements.txt beside the code, or by `--torch 2.4`.

    ## When it stays silent
    When the name can come from several imports and one of them still exists; in a `try` that catches the failure, or
    under a condition about versions or `hasattr`; when the oldest known release never had the name.
    """

    card = Card("PM581", "removed-function", "api-drift", Severity.ERROR)
    triggers = drift.TRIGGERS

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if drift.is_patched(source):
            return
        reported: set[str] = set()
        prepared: set[str] = set()  # names whose import may fail, and the program knows
        for node, name in drift.imported(source):
            pin = drift.pin_of(project, name)
            since = _gone_since(name, pin) if pin else None
            if pin is None or since is None:
                continue
            if drift.is_guarded(source, node, drift.CATCHES_MISSING):
                prepared.add(node.asname or node.name.partition(".")[0])
            else:
                reported.add(name)
                yield self._removed(source, node, name, since, pin)
        gone: dict[str, tuple[str, Minor, Pin] | None] = {}
        for call, text in drift.named_calls(source):
            # A plain name was imported, and the import is reported.
            if isinstance(call.func, ast.Attribute):
                if text.partition(".")[0] in prepared:
                    continue
                if text not in gone:
                    gone[text] = _gone(source, call.func, project)
                if (found := gone[text]) is not None:
                    yield from self._called(source, call, found, reported)

    def _called(
        self, source: Source, call: ast.Call, found: tuple[str, Minor, Pin], reported: set[str]
    ) -> Iterator[Diagnostic]:
        name, since, pin = found
        if any(name == known or name.startswith(f"{known}.") for known in reported):
            return
        if not drift.is_hidden(source, call.func) and not drift.is_guarded(
            source, call, drift.CATCHES_MISSING
        ):
            yield self._removed(source, call.func, name, since, pin)

    def _removed(self, source: Source, node: ast.AST, name: str, since: Minor, pin: Pin) -> Diagnostic:
        still = pin.allows_before(since)
        tail = f", which {pin} allows" if still else f"; {pin.here}"
        return self.report(
            source,
            node,
            f"`{name}` is gone since {pin.distribution} {spelled(since)}{tail}",
            remedy=INSTEAD.get(_listed(name), "Look for its replacement in the release notes."),
            severity=Severity.WARNING if still or pin.assumed else Severity.ERROR,
        )


def _gone(source: Source, func: ast.expr, project: Facts) -> tuple[str, Minor, Pin] | None:
    """Name, release and pin when everything the expression can stand for is gone."""
    found: list[tuple[str, Minor, Pin]] = []
    names = source.names.of(func)
    for name in sorted(names):
        pin = drift.pin_of(project, name)
        since = _gone_since(name, pin) if pin else None
        if pin is None or since is None or drift.is_own(source, name):
            return None
        found.append((name, since, pin))
    return max(found, key=lambda one: one[1]) if found else None


def _gone_since(name: str, pin: Pin) -> Minor | None:
    """The release from which the newest allowed one lacks this name; None when it has it, or nothing is known."""
    newest = pin.newest
    if newest is None:
        return None
    if early := _early(name):
        return early
    symbol = signatures.find(name)
    if symbol is None or symbol.exists(newest) or not any(symbol.is_understood(m) for m in symbol.minors):
        # A stub that raises in every known release was removed before them.
        always = symbol is not None and symbol.has(signatures.RAISES, newest)
        return signatures.gone_since(symbol) if symbol and always else None
    since = signatures.gone_since(symbol)
    return since if since is not None and since <= newest else None


def _early(name: str) -> Minor | None:
    return GONE_EARLY.get(_listed(name))


def _listed(name: str) -> str:
    """The entry of the tables above that covers this name: itself, or a module it is in."""
    parts = name.split(".")
    prefixes = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((prefix for prefix in prefixes if prefix in GONE_EARLY or prefix in INSTEAD), name)
