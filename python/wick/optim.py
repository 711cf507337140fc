"""Optimizers and learning rates."""
from . import _wick
from ._wick import cosine_rate  # noqa: F401


class AdamW:
    """AdamW, with gradients scaled down to a global norm.

    parameters    a Module, its named_parameters(), or a list of Vars
    lr            the learning rate; set the attribute to change it, as by cosine_rate
    weight_decay  applies to matrices, not to vectors such as biases
    clip_norm     the largest norm of all gradients together; 0: no clipping
    """

    def __init__(self, parameters, lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, clip_norm=1.0):
        if hasattr(parameters, "named_parameters"):
            parameters = parameters.named_parameters()
        if not isinstance(parameters, dict):
            parameters = {str(index): var for index, var in enumerate(parameters)}
        self.lr = lr
        self._adamw = _wick._AdamW(parameters, *betas, eps, weight_decay, clip_norm)

    def step(self):
        """Makes a step along the gradients that backward has collected, and clears them."""
        self._adamw.step(self.lr)

    def state_dict(self):
        """The running averages by name, and under "steps" the number of steps: all that load_state_dict needs."""
        return {**self._adamw.state(), "steps": _wick.Tensor(self._adamw.steps_done)}

    def load_state_dict(self, state):
        """Continues from a state_dict."""
        self._adamw.restore({name: tensor for name, tensor in state.items() if name != "steps"}, int(state["steps"].item()))
