from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.unit import Card, Check, Findings, Severity, Where


class CompileNotInForce(Check):
    """torch.compile was asked for, but the step runs as if it had not been.

    ## Why it matters
    Compilation that falls back is silent: the run is as slow as before, and the warm-up was paid for.

    ## Usual causes
    The compiled model is kept under one name and the plain one is called; `suppress_errors=True` hides that it failed;
    `TORCHDYNAMO_DISABLE=1` is set.

    ## What to do
    Call what `torch.compile` returned. Take `suppress_errors` out and read the error. `premortem fit --speed` says what
    compiling would buy.
    """

    card = Card("PM687", "compile-not-in-force", "compile", Severity.WARNING)

    def look(self, facts: Scene) -> Findings:
        force, rehearsed = facts.facts.force, facts.facts
        if not force.compiled or rehearsed.split is None or rehearsed.compile_error:
            return
        file, line = force.compiled_at or (None, None)
        failed = force.frames - force.frames_ok
        if force.graphs and not (force.hidden_errors and failed > 0):
            return
        if force.graphs:
            what = (
                f"{failed} of {force.frames} functions could not be compiled, and suppress_errors hides why"
            )
        elif force.frames:
            what = "nothing of the step could be compiled: it runs as it did before"
        else:
            what = "torch.compile was called, but what it returned never ran: no graph was made"
        yield self.finding(
            what,
            cause="The step runs through the plain code.",
            remedy="Call the compiled model, take suppress_errors out, and look at TORCHDYNAMO_DISABLE.",
            where=Where(file=file, line=line),
            graphs=force.graphs,
            breaks=force.breaks[:3] or None,
        )
