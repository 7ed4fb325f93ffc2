from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.unit import Card, Check, Findings, Severity


class ChannelsLastNotInForce(Check):
    """The convolutions have weights in channels_last, but the activations that reach them are not.

    ## Why it matters
    The format pays only if activations stay in it from layer to layer. Otherwise each convolution converts its input first,
    which is slower than before.

    ## Usual causes
    Only the model was converted and something between the layers (`contiguous()`, a reshape, a permute) undoes it.

    ## What to do
    Convert the input too (`x.to(memory_format=torch.channels_last)`), and keep `contiguous()` out of the forward pass.
    `premortem.parts.channels_last` measures whether it pays at all.
    """

    card = Card("PM686", "channels-last-not-in-force", "throughput", Severity.WARNING)

    def look(self, facts: Scene) -> Findings:
        force = facts.facts.force
        if force.convolutions < 2 or force.last_weights <= force.convolutions / 2:
            return
        if force.last_inputs >= force.convolutions / 2:
            return
        yield self.finding(
            f"the weights of {force.last_weights} of {force.convolutions} convolutions are in channels_last, but the activations "
            f"of only {force.last_inputs}",
            cause="Something between the layers puts the activations back into the plain format.",
            remedy="Convert the input as well, and look for contiguous(), view or permute in the forward pass.",
            convolutions=force.convolutions,
            weights=force.last_weights,
            activations=force.last_inputs,
        )
