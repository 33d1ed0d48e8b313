"""The choice by structure: each part by the cheapest exact method that fits, else by bounds."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from planaris import cuts, relax, treewidth
from planaris.bounds.best_interval import intersect, out_of_time
from planaris.bounds.labels.neighbour_ends import seconds_for_ends, with_neighbour_ends
from planaris.budget import Budget
from planaris.embed import Embedding
from planaris.errors import MethodError, PrecisionError, TimeLimitError, TooLargeError
from planaris.methods.bounds import PATIENCE_SECONDS
from planaris.methods.enclosed_marginals import enclosed_marginals, with_ends
from planaris.methods.planar import correlations_from_bias
from planaris.methods.registry import Method, Model, Question, Task, Verb, methods
from planaris.methods.surface import enclose_from_warmer, samples_from_warmer, surface_of_part
from planaris.methods.tensor_network import enclose, exact_samples
from planaris.methods.treewidth import (
    cheap_elimination,
    fitting_elimination,
    narrow_elimination,
)
from planaris.models import IsingModel, MarkovRandomField, lift_ground_state, lift_log_partition
from planaris.models.convert import IsingForm
from planaris.reductions.parts import (
    Part,
    Split,
    join_ground_states,
    join_log_partitions,
    join_marginals,
    join_samples,
    split_model,
)
from planaris.relax.branching.label_search import LabelSearcher
from planaris.relax.trivial_bounds import trivial_ground_state
from planaris.result import GroundState, LogPartition, Marginals
from planaris.sampling import sample as sample_from_the_past
from planaris.typing import Array

QUICK_SECONDS = 0.5
"""Eliminations estimated to take less are run first. Before longer ones, branch and cut is
tried."""

LOOK_SECONDS = 0.1
"""Time for a search over labels before an elimination order is looked for."""

LOOK_PER_ENTRY = 5e-7
"""Additional time of that search per entry of the tables."""

LABEL_ENDS = (0.4, 0.05)
"""Largest share of the time for ends of marginals of labels, and the share kept for them after the
estimate."""

FEW_HANDLES = 2
"""On surfaces of at most this genus the search may take all of the time."""

WARM_SHARE = 0.3
"""Share of the time for the ground state of a cold surface; most of the rest is for warmer
models."""

GOOD_WIDTH = 1e-3
"""Width per spin of an interval that is not narrowed any further."""

ELIMINATION_SECONDS = 10.0
"""Longest elimination that is preferred to a long branch and cut."""


SHARPER_SECONDS = 20.0
"""Longest elimination that is preferred to a conversion in which couplings lose digits
(:meth:`IsingForm.blurs`)."""


def _ising_form(mrf: MarkovRandomField, verb: Verb, budget: Budget) -> IsingForm | None:
    """Return the model in spins, unless it is none or elimination keeps its numbers sharper."""
    if not mrf.is_binary:
        return None
    task: Any = verb
    if IsingForm.blurs(mrf):
        plan = fitting_elimination(mrf, task, budget)
        if plan is not None and plan.seconds <= SHARPER_SECONDS:
            return None
    try:
        return IsingForm.apply(mrf)
    except MethodError:
        return None


# -- ground states -------------------------------------------------------------------------------


def _ground_state(asked: Question) -> GroundState:
    model, budget = asked.model, asked.budget
    if isinstance(model, MarkovRandomField):
        form = _ising_form(model, "ground_state", budget)
        if form is not None:
            return form.lift(_ground_state(replace(asked, model=form.model)))
        return _ground_state_of_labels(model, budget)
    try:
        split = split_model(model, asked.embedding, budget=budget)
    except TimeoutError:
        return trivial_ground_state(model, "auto", budget)
    found = [_ground_state_of_part(part, budget) for part in split.parts]
    return join_ground_states(split, found, budget)


def _ground_state_of_labels(mrf: MarkovRandomField, budget: Budget) -> GroundState:
    """Search first, as most models reduce to small ones; eliminate where that is quicker.

    Narrow models are eliminated at once, unless a proof is asked for: only the search has one.
    """
    if not budget.prove and (narrow := narrow_elimination(mrf, budget)):
        with suppress(TimeLimitError):
            return treewidth.ground_state(mrf, plan=narrow, time_limit=budget)
    limited = budget.or_within(PATIENCE_SECONDS)
    try:
        search = LabelSearcher(mrf, budget=limited)
    except TimeoutError:
        return _branch_and_cut(mrf, budget)
    look = LOOK_SECONDS + LOOK_PER_ENTRY * len(mrf.log_values)
    done = search.run(limited.within(look))
    if done and (found := search.result()).exact:
        return found
    plan = fitting_elimination(mrf, "ground_state", budget)
    if plan is not None:
        if not done and search.run(limited.share(0.5).within(plan.seconds)):
            return search.result()
        with suppress(TimeLimitError):
            return treewidth.ground_state(mrf, plan=plan, time_limit=budget)
    if not done:
        search.finish(limited)
    return search.result()


def _ground_state_of_part(part: Part, budget: Budget) -> GroundState:
    known = None
    if part.embedding is not None:
        known = part.ground_state(budget)
        if known.exact or part.embedding.genus == 0:  # the time was over
            return known
        known = _closer(part, known, _on_surface(part, part.embedding, budget))
        if known.exact:
            return known
    found = _ground_state_without_surface(part, budget)
    return found if known is None or found.exact else _closer(part, known, found)


def _on_surface(part: Part, surface: Embedding, budget: Budget) -> GroundState:
    """Search on a surface, for half of the time where its genus is large; others follow."""
    limited = budget.or_within(PATIENCE_SECONDS)
    share = limited if surface.genus <= FEW_HANDLES else limited.share(0.5)
    return relax.surface_ground_state(part.model, surface, time_limit=share)


def _closer(part: Part, one: GroundState, other: GroundState) -> GroundState:
    """Return the better state with the better bound, and with the proof of that bound."""
    bounded, best = (one, other) if one.lower >= other.lower else (other, one)
    if bounded.energy <= best.energy:
        return bounded
    return bounded.restated(part.model, best.spins, bounded.lower)


def _ground_state_without_surface(part: Part, budget: Budget) -> GroundState:
    model, inverse = part.with_fields()
    if cuts.is_submodular(model):  # of the couplings alone: a field may have either sign
        found = cuts.graph_cut(model, time_limit=budget)
        if inverse is None:
            return found
        lifted = lift_ground_state(found, inverse, part.model)
        # The flow is along the other edges: what it leaves over is held against the fields.
        return replace(lifted, certificate=found.certificate)
    plan = fitting_elimination(model, "ground_state", budget)
    if plan is None or plan.seconds > QUICK_SECONDS:
        surface = None
        if part.embedding is None:
            with suppress(TimeoutError):
                surface = surface_of_part(part, budget)
        if surface is not None:
            on_surface = _on_surface(part, surface, budget)
            if on_surface.exact:
                return on_surface
    if plan is None or plan.seconds > ELIMINATION_SECONDS:
        return _branch_and_cut(part.model, budget)
    bounded = None
    if plan.seconds > QUICK_SECONDS:
        # Branch and cut is quick on weakly frustrated models; it gets the time of the elimination.
        bounded = _branch_and_cut(part.model, budget.share(0.5).within(plan.seconds))
        if bounded.exact:
            return bounded
    try:
        found = treewidth.ground_state(model, plan=plan, time_limit=budget)
    except TimeLimitError:
        return bounded or _branch_and_cut(part.model, budget)
    return found if inverse is None else lift_ground_state(found, inverse, part.model)


def _branch_and_cut(model: Model, budget: Budget) -> GroundState:
    return relax.branch_and_cut(model, time_limit=budget.or_within(PATIENCE_SECONDS))


# -- log Z ---------------------------------------------------------------------------------------


def _log_partition(asked: Question) -> LogPartition:
    model, budget = asked.model, asked.budget
    if isinstance(model, MarkovRandomField):
        form = _ising_form(model, "log_partition", budget)
        if form is None:
            return _eliminate_or_enclose(model, budget)
        return form.lift(_log_partition(replace(asked, model=form.model)))
    if asked.embedding is None:
        plan = cheap_elimination(model, "log_partition", budget)
        if plan is not None:
            return _eliminate(model, plan, budget)
    try:
        split = split_model(model, asked.embedding, budget=budget)
    except TimeoutError:
        return out_of_time(model, "auto", budget.seconds())
    if len(split.parts) == 1 and split.parts[0].embedding is None:
        return _eliminate_or_enclose(model, budget)
    return log_partition_by_parts(split, budget)


def log_partition_by_parts(split: Split, budget: Budget) -> LogPartition:
    """Return log Z, each part by the cheapest method that fits."""
    found = [_log_partition_of_part(part, budget) for part in split.parts]
    return join_log_partitions(split, found, budget)


def _log_partition_of_part(part: Part, budget: Budget) -> LogPartition:
    known = warm = None
    if part.embedding is not None:
        known = part.log_partition(budget)
        if known.exact or part.embedding.genus == 0:
            return known
        warm = _from_warmer(part, budget)
        if warm is not None and warm.upper - warm.lower <= GOOD_WIDTH * part.model.num_spins:
            return warm
    model, inverse = part.with_fields()
    found = _eliminate_or_enclose(model, budget)
    found = found if inverse is None else lift_log_partition(found, inverse)
    if known is None:
        return found
    # A surface too cold for its Pfaffians: all intervals hold.
    found = intersect(found, known.lower, known.upper, by=known.method)
    if warm is None or (warm.lower <= found.lower and warm.upper >= found.upper):
        return found
    both = intersect(found, warm.lower, warm.upper, by=warm.method)
    return replace(both, proved=False, certificate=None)


def _from_warmer(part: Part, budget: Budget) -> LogPartition | None:
    """Enclose log Z of a cold surface that no elimination fits."""
    if fitting_elimination(part.model, "log_partition", budget) is not None:
        return None
    limited = budget.or_within(PATIENCE_SECONDS)
    lowest = _ground_state_of_part(part, limited.share(WARM_SHARE))
    return enclose_from_warmer(part, lowest, limited.share(1.0 - WARM_SHARE))


def _eliminate_or_enclose(model: Model, budget: Budget) -> LogPartition:
    plan = fitting_elimination(model, "log_partition", budget)
    return enclose(model, budget) if plan is None else _eliminate(model, plan, budget)


def _eliminate(model: Model, plan: treewidth.EliminationPlan, budget: Budget) -> LogPartition:
    """Eliminate where that was estimated to fit; on timeout return the best interval."""
    try:
        return treewidth.log_partition(model, plan=plan, time_limit=budget)
    except TimeLimitError:
        return enclose(model, budget)


# -- marginals -----------------------------------------------------------------------------------


def _marginals(asked: Question) -> Marginals:
    model, budget = asked.model, asked.budget
    if isinstance(model, MarkovRandomField):
        form = _ising_form(model, "marginals", budget)
        if form is not None:
            return form.lift(_marginals(replace(asked, model=form.model)))
        try:
            return treewidth.marginals(model, time_limit=budget)
        except (TooLargeError, TimeLimitError):
            if not model.is_pairwise:
                raise
            return _labels_with_ends(asked)
    try:
        return exact_marginals(asked)
    except (TooLargeError, TimeLimitError):
        return enclosed_marginals(model, budget.or_within(PATIENCE_SECONDS))
    except PrecisionError:  # a surface that is too cold, and too wide to eliminate
        return with_ends(_estimate(asked, "trw"), model, budget.or_within(PATIENCE_SECONDS))


def _labels_with_ends(asked: Question) -> Marginals:
    """Return an estimate with ends that hold, where there is time for them."""
    model, budget = asked.model, asked.budget
    seconds = seconds_for_ends(model)
    most, beside = LABEL_ENDS
    if seconds > most * budget.remaining():
        return _estimate(asked, "trw")
    kept = budget.share(1.0 - beside).reserve(seconds)
    found = _estimate(replace(asked, budget=kept), "trw")
    try:
        return with_neighbour_ends(model, found, budget)
    except TimeoutError:
        return found


def _estimate(asked: Question, name: str) -> Marginals:
    found: Marginals = methods()[name].tasks["marginals"].run(asked)
    return found


def exact_marginals(asked: Question) -> Marginals:
    """Return exact marginals of an Ising model, or raise the reason why there are none."""
    model, budget = asked.model, asked.budget
    if asked.embedding is None and _may_eliminate(model):
        plan = cheap_elimination(model, "marginals", budget)
        if plan is not None:
            return treewidth.marginals(model, plan=plan, time_limit=budget)
    return marginals_by_parts(_required_split(asked), budget)


def _required_split(asked: Question) -> Split:
    with asked.budget.required("the parts of the model were not found"):
        return split_model(asked.model, asked.embedding, budget=asked.budget)


def only_exact_marginals(asked: Question) -> Marginals:
    """Return exact marginals of any model, or raise the reason why there are none."""
    model = asked.model
    if not isinstance(model, MarkovRandomField):
        return exact_marginals(asked)
    form = _ising_form(model, "marginals", asked.budget)
    if form is None:
        return treewidth.marginals(model, time_limit=asked.budget)
    return form.lift(exact_marginals(replace(asked, model=form.model)))


def marginals_by_parts(split: Split, budget: Budget) -> Marginals:
    """Return exact marginals, each part by the cheapest method that fits."""
    found = [_marginals_of_part(part, budget) for part in split.parts]
    return join_marginals(split, found, correlations_from_bias, budget)


def _may_eliminate(model: IsingModel) -> bool:
    """Return whether looking for an elimination order is worth its time."""
    return model.num_spins <= 5000 or model.num_edges <= 1.05 * model.num_spins


def _marginals_of_part(part: Part, budget: Budget) -> Marginals:
    if part.embedding is not None:
        try:
            return part.marginals(budget)
        except PrecisionError:
            if fitting_elimination(part.model, "marginals", budget) is None:
                raise
    model, inverse = part.with_fields()
    found = _eliminate_in_time(model, budget)
    return found if inverse is None else inverse.lift_marginals(found)


def _eliminate_in_time(model: Model, budget: Budget) -> Marginals:
    """Return marginals by elimination; raise at once if it would take longer than the time left."""
    with budget.required("no elimination order was found"):
        plan = treewidth.plan_elimination(model, task="marginals", time_limit=budget)
    if plan.complete and plan.seconds > budget.remaining():
        msg = f"marginals by elimination would take about {plan.seconds:.0f} s"
        raise TimeLimitError(msg, time_limit=budget.time_limit)
    return treewidth.marginals(model, plan=plan if plan.complete else None, time_limit=budget)


# -- samples -------------------------------------------------------------------------------------


def _sample(asked: Question) -> Array:
    model, size, rng, budget = asked.model, asked.num_samples, asked.rng, asked.budget
    assert rng is not None, "the verb makes one"
    if isinstance(model, MarkovRandomField):
        form = _ising_form(model, "sample", budget)
        if form is not None:
            return form.lift_states(_sample(replace(asked, model=form.model)))
        return treewidth.sample(model, size, rng, time_limit=budget)
    plan = None if asked.embedding is not None else cheap_elimination(model, "sample", budget)
    if plan is not None:
        return treewidth.sample(model, size, rng, plan=plan, time_limit=budget)
    return samples_by_parts(_required_split(asked), size, rng, budget)


def samples_by_parts(split: Split, size: int, rng: np.random.Generator, budget: Budget) -> Array:
    """Return exact samples, each part by the cheapest method that fits."""
    found = [_samples_of_part(part, size, rng, budget) for part in split.parts]
    return join_samples(split, found, size, rng)


def _samples_of_part(part: Part, size: int, rng: np.random.Generator, budget: Budget) -> Array:
    if part.embedding is not None:
        try:
            return part.sample(size, rng, budget)
        except PrecisionError:  # too cold for Pfaffians
            if fitting_elimination(part.model, "sample", budget) is None:
                lowest = _ground_state_of_part(part, budget.or_within(PATIENCE_SECONDS))
                return samples_from_warmer(part, lowest, size, rng, budget)
    model, inverse = part.with_fields()
    states: Array | None = None
    if fitting_elimination(model, "sample", budget) is None:
        if cuts.is_submodular(model):
            states = sample_from_the_past(model, size, rng, time_limit=budget)
        else:
            states = exact_samples(model, size, rng, budget)
    if states is None:
        states = treewidth.sample(model, size, rng, time_limit=budget)
    return states if inverse is None else inverse.lift_states(states)


METHODS = [
    Method(
        "auto",
        "picks by structure, part by part",
        {
            "ground_state": Task(_ground_state, "interval", "labels"),
            "log_partition": Task(_log_partition, "interval", "labels"),
            "marginals": Task(_marginals, "estimate", "labels"),
            "sample": Task(_sample, "exact", "labels"),
        },
    )
]
