from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from helpers.tjoin_cases import (
    WEIGHT_KINDS,
    Problem,
    exact,
    lightest_tjoin,
    problems,
    random_problem,
    random_weights,
)
from helpers.trials import examples
from planaris.errors import InfeasibleError
from planaris.matching.tjoins import min_weight_perfect_matching, minimum_tjoin
from planaris.verify import check_perfect_matching, check_tjoin


def agrees_with_enumeration(problem: Problem) -> None:
    n, edges, weights, odd, boundary = problem
    expected = lightest_tjoin(problem)
    try:
        answer = minimum_tjoin(n, edges, weights, odd, boundary=boundary)
    except InfeasibleError:
        assert expected is None
        return
    assert Fraction(answer.numerator) * Fraction(2) ** answer.exponent == expected
    check_tjoin(n, edges, weights, odd, answer, boundary=boundary)


@examples(1500)
@given(problems())
def test_the_lightest_of_all_tjoins_is_found(problem):
    agrees_with_enumeration(problem)


@pytest.mark.slow
def test_the_lightest_of_all_tjoins_is_found_twenty_thousand_times():
    rng = np.random.default_rng(20_000)
    for i in range(20_000):
        agrees_with_enumeration(random_problem(rng, WEIGHT_KINDS[i % len(WEIGHT_KINDS)]))


def test_perfect_matchings_agree_with_networkx(rng):
    import networkx as nx

    for i in range(300):
        n = int(rng.integers(2, 15))
        edges = rng.integers(0, n, (int(rng.integers(n, 4 * n)), 2))
        weights = random_weights(WEIGHT_KINDS[i % 7], len(edges), rng)
        weights = weights * rng.choice([-1, 1], len(weights))
        graph = nx.Graph()
        graph.add_nodes_from(range(n))
        for (u, v), w in zip(edges.tolist(), exact(weights), strict=True):
            if u != v and w <= graph.get_edge_data(u, v, {"weight": w})["weight"]:
                graph.add_edge(u, v, weight=w)
        best = nx.min_weight_matching(graph)
        try:
            answer = min_weight_perfect_matching(n, edges, weights)
        except InfeasibleError:
            assert 2 * len(best) < n
            continue
        check_perfect_matching(n, edges, weights, answer)
        total = sum(graph[u][v]["weight"] for u, v in best)
        assert Fraction(answer.numerator) * Fraction(2) ** answer.exponent == total
