"""Groups of processes that compute with each other's tensors, as `wick launch -n 2 python train.py` starts them.

    group = wick.dist.init()
    loss = group.all_reduce(loss, "mean")
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import _wick
from ._wick import Device, DType, Tensor, Var
from .module import Module
from .optim import _named


class ProcessGroup:
    """The processes that called init, each with its rank. All call the same functions in the same order, from one thread at a time.

    Sums are taken in the order of the ranks, in f32 for narrower floats, and rounded once: every rank gets the same bits, in every
    run. OSError, naming the rank, if one has died, has left or does not answer; ValueError if another rank calls another function or
    has a tensor of another shape or dtype. A group that has failed fails at every later call.
    """

    def __init__(self, group: _wick._ProcessGroup) -> None:
        self._group = group

    def __repr__(self) -> str:
        return f"ProcessGroup(rank={self.rank}, world_size={self.world_size})"

    @property
    def rank(self) -> int:
        """This process's number, from 0."""
        return self._group.rank

    @property
    def world_size(self) -> int:
        """The number of processes."""
        return self._group.world_size

    @property
    def local_rank(self) -> int:
        """This process's number among the processes of its machine."""
        return self._group.local_rank

    def all_reduce(self, x: Tensor, op: str = "sum") -> Tensor:
        """The sum, mean, max or min of all ranks' tensors. "sum" and "mean" have a gradient."""
        return self._group.all_reduce(x, op)

    def all_gather(self, x: Tensor, dim: int = 0) -> Tensor:
        """All ranks' tensors, of one shape, concatenated along a dim. Has a gradient."""
        return self._group.all_gather(x, dim)

    def reduce_scatter(self, x: Tensor, dim: int = 0, op: str = "sum") -> Tensor:
        """This rank's part, along a dim, of the sum, mean, max or min of all ranks' tensors. "sum" and "mean" have a gradient."""
        return self._group.reduce_scatter(x, dim, op)

    def all_to_all(self, x: Tensor, split_dim: int = 0, concat_dim: int = 0) -> Tensor:
        """Sends the i-th part along split_dim to rank i, and concatenates the received parts along concat_dim. Has a gradient."""
        return self._group.all_to_all(x, split_dim, concat_dim)

    def broadcast(self, x: Tensor, root: int = 0) -> Tensor:
        """The tensor of rank root; x gives the shape and dtype on the others. Has a gradient."""
        return self._group.broadcast(x, root)

    def send(self, x: Tensor, to: int) -> None:
        """Sends x to another rank, which must call recv."""
        self._group.send(x, to)

    def recv(self, shape: Sequence[int], source: int, dtype: DType | str = "f32", device: Device | str = "cpu") -> Tensor:
        """Receives a tensor of this shape and dtype from another rank."""
        return self._group.recv(list(shape), dtype, device, source)

    def barrier(self) -> None:
        """Returns when all ranks have called it."""
        self._group.barrier()


def init(rank: int | None = None, world_size: int | None = None, local_rank: int | None = None, address: str | None = None,
         port: int | None = None, timeout: float | None = None) -> ProcessGroup:
    """Meets the other ranks, and returns when all are there.

    Arguments that are None come from the variables that `wick launch`, torchrun and mpirun set, and WICK_DIST_TIMEOUT; without these the process is
    alone in its group. timeout: the seconds for which a rank waits for another that is alive.
    """
    return ProcessGroup(_wick._ProcessGroup.join(rank, world_size, local_rank, address, port, timeout))


class DataParallel:
    """Trains one model with all ranks of a group: sums their gradients while backward runs, and makes AdamW's steps. Each rank keeps
    its share of the running averages.

        optimizer = wick.dist.DataParallel(model, group, lr=1e-3)
        optimizer.backward(loss_of_my_rows / rows_of_all_ranks)
        optimizer.step()

    The parameters begin with rank 0's. All ranks call the same methods in the same order. The keywords are optim.AdamW's;
    bucket_bytes: of gradients that are sent together.
    """

    def __init__(self, parameters: Module | Mapping[str, Var] | Sequence[Var], group: ProcessGroup, lr: float = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.01, clip_norm: float = 0.0,
                 decays_vectors: bool = True, bucket_bytes: int = 8 << 20) -> None:
        named = _named(parameters)
        self.lr = lr
        self._optimizer = _wick._DataParallel(named, betas[0], betas[1], eps, weight_decay, clip_norm, decays_vectors, group._group,
                                              bucket_bytes)

    def backward(self, loss: Tensor | None) -> None:
        """Adds the gradients of this rank's part of a batch, and sums them over the ranks. The sum of the ranks' losses is the
        batch's; None: this rank has no part. Earlier parts of the same batch come before with loss.backward()."""
        self._optimizer.backward(loss)

    def step(self) -> None:
        """Makes a step along the sums, and clears the gradients."""
        self._optimizer.step(self.lr)

    def state_dict(self) -> dict[str, Tensor]:
        """The state_dict of optim.AdamW, from all ranks."""
        return {**self._optimizer.state(), "steps": _wick.Tensor(self._optimizer.steps_done)}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Continues from a state_dict of any number of ranks, or of optim.AdamW."""
        self._optimizer.restore({name: tensor for name, tensor in state.items() if name != "steps"}, int(state["steps"].item()))
