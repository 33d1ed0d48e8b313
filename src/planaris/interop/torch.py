"""A differentiable log Z for torch: the gradient is the correlation of every edge."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from planaris.errors import MethodError, ModelError, missing_extra
from planaris.planar import Plan
from planaris.planar import plan as make_plan

if TYPE_CHECKING:
    from torch import Tensor


def log_partition(couplings: Tensor, plan: Any) -> Tensor:
    """Compute the natural logarithm of the partition function of a planar Ising model.

    Parameters
    ----------
    couplings : torch.Tensor, shape (..., m)
        One coupling per edge of the plan; leading dimensions are a batch. Computed in double
        precision on the CPU, returned as it came.
    plan : Plan
        From :func:`planaris.plan`; a graph is prepared at every call.

    Returns
    -------
    torch.Tensor, shape (...)
        Differentiable once: ``∂ log Z / ∂ J_uv = ⟨s_u s_v⟩``, exact, found together with log Z.

    Raises
    ------
    MethodError
        Where the couplings are so large that log Z or a correlation is lost to rounding.

    Examples
    --------
    >>> import torch, planaris
    >>> triangle = planaris.plan((3, [(0, 1), (1, 2), (0, 2)]))
    >>> couplings = torch.tensor([1.0, 1.0, -1.0], dtype=torch.float64, requires_grad=True)
    >>> value = log_partition(couplings, triangle)
    >>> value.backward()
    >>> round(value.item(), 6), [round(c, 6) for c in couplings.grad.tolist()]
    (2.797846, [0.325242, 0.325242, -0.325242])
    """
    prepared = plan if isinstance(plan, Plan) else make_plan(plan)
    try:
        import torch
    except ImportError as error:
        raise missing_extra(package="torch", extra="torch") from error
    given: Any = couplings
    if not isinstance(given, torch.Tensor) or not given.is_floating_point():
        msg = f"`couplings` must be a tensor of floats, got {type(given).__name__}"
        raise ModelError(msg)
    if couplings.ndim == 0 or couplings.shape[-1] != prepared.num_edges:
        count, shape = prepared.num_edges, tuple(couplings.shape)
        msg = f"`couplings` must have {count} entries in the last dimension, got shape {shape}"
        raise ModelError(msg)
    wanted = couplings.requires_grad and torch.is_grad_enabled()
    value: Tensor = _function().apply(couplings, prepared, wanted)
    return value


@cache
def _function() -> Any:
    """Return the autograd function; torch is imported when it is first needed."""
    import torch

    class Correlations(torch.autograd.Function):
        """Hands out the slopes, and refuses to be differentiated: never a silent zero."""

        @staticmethod
        def forward(ctx: Any, couplings: Tensor, slopes: Tensor) -> Tensor:
            return slopes.clone()

        @staticmethod
        def backward(ctx: Any, weight: Tensor) -> Any:
            msg = "`log_partition` can be differentiated once, not twice"
            raise MethodError(msg)

    class LogPartition(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, couplings: Tensor, plan: Plan, wanted: bool) -> Tensor:
            values = couplings.detach().to("cpu", torch.float64).numpy()
            log_z, slopes = _evaluate(plan, values, gradient=wanted)
            if slopes is not None:
                ctx.save_for_backward(couplings, torch.from_numpy(slopes).to(couplings))
            return torch.from_numpy(log_z).to(couplings)

        @staticmethod
        def backward(ctx: Any, weight: Tensor) -> Any:
            once: Any = Correlations.apply
            slopes = once(*ctx.saved_tensors)
            return weight.unsqueeze(-1) * slopes, None, None

    return LogPartition


def _evaluate(plan: Plan, couplings: Any, *, gradient: bool) -> tuple[Any, Any]:
    """Return log Z (...) and the correlations (..., m), or None where nobody asks for them."""
    rows = couplings.reshape(-1, plan.num_edges) if couplings.size else couplings
    shape = couplings.shape[:-1]
    if plan.num_edges == 0:
        log_z = np.full(shape, plan.num_spins * np.log(2.0))
        return log_z, np.zeros(couplings.shape) if gradient else None
    if len(rows) == 0:
        return np.zeros(shape), np.zeros(couplings.shape) if gradient else None
    if not gradient:
        found = plan.log_partition(rows)
        if not found.exact.all():
            msg = "log Z of these couplings cannot be computed to double precision"
            raise MethodError(msg, rows=np.flatnonzero(~found.exact))
        return found.values.reshape(shape), None
    marginals = plan.marginals(rows)
    agree = marginals.edges.reshape(couplings.shape)
    return marginals.log_z.reshape(shape), 2.0 * agree - 1.0
