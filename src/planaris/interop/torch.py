"""A differentiable log Z for torch: the gradient is the correlation of every edge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from planaris.errors import MethodError, ModelError, missing_extra, require_one_of
from planaris.planar import Plan
from planaris.planar import plan as make_plan
from planaris.planar.pfaffian.on_device import evaluate_on_cpu, evaluate_on_device

if TYPE_CHECKING:
    from torch import Tensor


Precision = Literal["double", "single"]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """log Z of every model of a batch, and how it was found.

    Attributes
    ----------
    log_partition : torch.Tensor, shape (...)
        log Z, in double precision.
    correlations : torch.Tensor, shape (..., m), or None
        ⟨s_u s_v⟩ of every edge.
    on_cpu : torch.Tensor of bool, shape (...)
        True where the CPU computed it: everywhere for couplings on the CPU; of others, where
        pivots on the device had lost digits.
    """

    log_partition: Tensor
    correlations: Tensor | None
    on_cpu: Tensor


def log_partition(couplings: Tensor, plan: Any, *, precision: Precision = "double") -> Tensor:
    """Compute the natural logarithm of the partition function of a planar Ising model.

    Parameters
    ----------
    couplings : torch.Tensor, shape (..., m)
        One coupling per edge of the plan; leading dimensions are a batch. Computed in double
        precision where they are, on the CPU or on a GPU, and returned as they came.
    plan : Plan
        From :func:`planaris.plan`; a graph is prepared at every call.
    precision : {"double", "single"}
        ``"single"`` takes up to two fifths less time on a GPU; most models keep eight digits of
        log Z, some only two. On the CPU it changes nothing.

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
    torch, prepared = _import_torch(), _prepared(couplings, plan, precision)
    wanted = couplings.requires_grad and torch.is_grad_enabled()
    value: Tensor = _function().apply(couplings, prepared, wanted, precision)[0]
    return value


def evaluate(
    couplings: Tensor, plan: Any, *, correlations: bool = True, precision: Precision = "double"
) -> Evaluation:
    """Compute log Z and correlations of many models, without a graph of derivatives.

    Parameters
    ----------
    couplings, plan, precision
        As for :func:`log_partition`.
    correlations : bool
        Whether to compute those of all edges too.

    Returns
    -------
    Evaluation
        On the device of the couplings; ``on_cpu`` says which rows the CPU computed.

    Examples
    --------
    >>> import torch, planaris
    >>> pair = planaris.plan((2, [(0, 1)]))
    >>> found = evaluate(torch.tensor([[0.0], [1.0]]), pair)
    >>> [round(c, 6) for c in found.correlations.ravel().tolist()], found.on_cpu.tolist()
    ([0.0, 0.761594], [True, True])
    """
    prepared = _prepared(couplings, plan, precision)
    return _evaluate(prepared, couplings.detach(), gradient=correlations, precision=precision)


def _import_torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise missing_extra(package="torch", extra="torch") from error
    return torch


def _prepared(couplings: Any, plan: Any, precision: str) -> Plan:
    """Return the plan; refuse couplings that do not fit it."""
    prepared = plan if isinstance(plan, Plan) else make_plan(plan)
    torch = _import_torch()
    require_one_of("precision", precision, ("double", "single"), ModelError)
    if not isinstance(couplings, torch.Tensor) or not couplings.is_floating_point():
        kind = getattr(couplings, "dtype", type(couplings).__name__)
        msg = f"`couplings` must be a tensor of floats, got {kind}"
        raise ModelError(msg)
    if couplings.ndim == 0 or couplings.shape[-1] != prepared.num_edges:
        count, shape = prepared.num_edges, tuple(couplings.shape)
        msg = f"`couplings` must have {count} entries in the last dimension, got shape {shape}"
        raise ModelError(msg)
    return prepared


@cache
def _function() -> Any:
    """Return the autograd function; torch is imported when it is first needed."""
    import torch

    class Correlations(torch.autograd.Function):
        """Hands out the slopes, and refuses to be differentiated: never a silent zero."""

        generate_vmap_rule = True

        @staticmethod
        def forward(couplings: Tensor, slopes: Tensor) -> Tensor:
            return slopes.clone()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, weight: Tensor) -> Any:
            msg = "`log_partition` can be differentiated once, not twice"
            raise MethodError(msg)

    class LogPartition(torch.autograd.Function):
        """Returns log Z and its slopes, which are there for the way back only."""

        @staticmethod
        def forward(
            couplings: Tensor, plan: Plan, wanted: bool, precision: Precision
        ) -> tuple[Tensor, Tensor]:
            values = couplings.detach()
            found = _evaluate(plan, values, gradient=wanted, precision=precision)
            slopes = values[..., :0] if found.correlations is None else found.correlations
            return found.log_partition.to(couplings), slopes.to(couplings)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_non_differentiable(output[1])
            ctx.save_for_backward(inputs[0], output[1])

        @staticmethod
        def backward(ctx: Any, weight: Tensor, _: Any) -> Any:
            once: Any = Correlations.apply
            slopes = once(*ctx.saved_tensors)
            return weight.unsqueeze(-1) * slopes, None, None, None

        @staticmethod
        def vmap(
            info: Any, in_dims: Any, couplings: Tensor, plan: Plan, wanted: bool, *rest: Any
        ) -> Any:
            rows: Any = LogPartition.apply
            wanted = wanted or couplings.requires_grad  # of what is in the batch
            return rows(couplings.movedim(in_dims[0], 0), plan, wanted, *rest), (0, 0)

    return LogPartition


def _evaluate(plan: Plan, couplings: Tensor, *, gradient: bool, precision: Precision) -> Evaluation:
    """Evaluate where the couplings are."""
    torch = _import_torch()
    if couplings.is_cuda and couplings.numel() and plan.evaluator.models is not None:
        found = evaluate_on_device(
            plan, couplings.reshape(-1, plan.num_edges), correlations=gradient, precision=precision
        )
        shape = couplings.shape[:-1]
        return Evaluation(
            found.log_partition.reshape(shape),
            None if found.correlations is None else found.correlations.reshape(couplings.shape),
            ~found.sound.reshape(shape),
        )
    log_z, slopes = evaluate_on_cpu(
        plan, couplings.to("cpu", torch.float64).numpy(), correlations=gradient
    )
    return Evaluation(
        torch.from_numpy(log_z).to(couplings.device),
        None if slopes is None else torch.from_numpy(slopes).to(couplings.device),
        torch.ones(couplings.shape[:-1], dtype=torch.bool, device=couplings.device),
    )
