from premortem.preflight.rehearsal.checks.script_crashes import first_line
from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.unit import Card, Check, Findings, Severity, Where


class CompileFails(Check):
    """torch.compile fails on the script's own step; without it, the same script trains.

    ## Why it matters
    The usual answers are to turn compilation off for good, or to set `suppress_errors`. The first gives up the speed of all that does
    compile, the second hides what does not.

    ## Usual causes
    Code that the compiler cannot follow. A Python number that differs from block to block (a drop-path rate, a scale) where blocks
    are compiled one by one: from the second block on the compiler treats it as unknown, and inside of a checkpointed
    region some versions of torch then fail, whether the checkpoint is reentrant or not.

    ## What to do
    The line that the compiler was reading is named. Give it a number that is the same in all blocks, a tensor, or
    `torch._dynamo.config.specialize_float = True`; or compile the whole model in place of its blocks; or exempt that function with
    `torch.compiler.disable`. `premortem fit --speed`, on the script without its own compile, measures which of them pays.
    """

    card = Card("PM693", "compile-fails", "compile", Severity.ERROR)

    def look(self, facts: Scene) -> Findings:
        rehearsed = facts.facts
        if not rehearsed.compile_error:
            return
        file, line = rehearsed.compile_at or (None, None)
        yield self.finding(
            f"torch.compile fails on the script's step: {first_line(rehearsed.compile_error)}",
            cause=f"Only the compiler fails: with TORCHDYNAMO_DISABLE=1 the same script made its {rehearsed.steps} steps. "
            "The named line is the one it was reading.",
            remedy="Compile another part of the model (all of it, or other blocks), keep numbers that differ from block to block "
            "out of that line, or exempt the function with torch.compiler.disable. suppress_errors would only hide it.",
            where=Where(file=file, line=line),
            steps_without=rehearsed.steps,
        )
