"""Classes and the moves between them, against all graphs on three and four nodes."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain, combinations, permutations

import numpy as np
import pytest

import consilience as cs
from consilience.graph import all_dags
from consilience.graph.meek import orient
from consilience.structure.searches.class_masks import EquivalenceClass, bits, class_of, is_acyclic
from consilience.structure.searches.class_moves import DELETE, INSERT, TURN
from consilience.structure.searches.constraints import Constraints

NAMES = ("A", "B", "C", "D")
FOUR = tuple(all_dags(NAMES))
KINDS = (INSERT, DELETE, TURN)


class NoScores:
    """All families score the same; arcs that are not allowed cannot be added."""

    def __init__(self, allowed):
        self._allowed = allowed

    def toggled(self, child, parents):
        is_parent = np.array([parents >> i & 1 for i in range(len(self._allowed))], bool)
        values = np.where(self._allowed[:, child] | is_parent, 0.0, -np.inf)
        values[child] = 0.0
        return values

    def gaining(self, child, parents, least):
        return [(x, gain) for x, gain in enumerate(self.toggled(child, parents)) if gain > least]


def to_parents(dag):
    place = {name: i for i, name in enumerate(sorted(dag.nodes))}
    return tuple(sum(1 << place[p] for p in dag.parents(name)) for name in sorted(dag.nodes))


def free(n):
    return Constraints.of(NAMES[:n])


def label(parents):
    state = class_of(parents)
    return state.parents, state.neighbors


def by_class(graphs):
    found = defaultdict(list)
    for graph in graphs:
        found[label(graph)].append(graph)
    return found


def is_legal(graph, constraints):
    pairs = permutations(range(len(graph)), 2)
    has = {(i, j): bool(graph[j] >> i & 1) for i, j in pairs}
    return all(
        (constraints.allowed[arc] or not present) and (present or not constraints.required[arc])
        for arc, present in has.items()
    )


def one_arc_away(graph):
    """What one arc more, less or turned makes of a graph, by kind."""
    for x, y in permutations(range(len(graph)), 2):
        toggled = list(graph)
        toggled[y] ^= 1 << x
        if not graph[y] >> x & 1:
            if not graph[x] >> y & 1 and is_acyclic(toggled):
                yield INSERT.name, tuple(toggled)
            continue
        yield DELETE.name, tuple(toggled)
        toggled[x] ^= 1 << y
        if is_acyclic(toggled):
            yield TURN.name, tuple(toggled)


def moves(state, kind, constraints):
    scores = NoScores(constraints.allowed)
    for y in range(len(state.parents)):
        for move in kind.moves(state, scores, y, -1.0):
            if kind is DELETE and constraints.required[move.x, y]:
                continue
            if not kind.obstacle(state, move):
                yield move


@pytest.mark.parametrize("n", [3, 4])
def test_moves_lead_to_exactly_the_classes_one_arc_away_from_some_member(n):
    for name, members in by_class(map(to_parents, all_dags(NAMES[:n]))).items():
        state = EquivalenceClass.of(*name)
        wanted = defaultdict(set)
        for kind, graph in chain.from_iterable(map(one_arc_away, members)):
            wanted[kind].add(label(graph))
        wanted[TURN.name].discard(name)
        for kind in KINDS:
            found = {label(kind.result(state, move)) for move in moves(state, kind, free(n))}
            assert found == wanted[kind.name], (kind.name, state)


KNOWLEDGE = [
    {"tiers": ["AB", "CD"]},
    {"tiers": ["D", "ABC"]},
    {"forbid": [("A", "B"), ("C", "B"), ("B", "D"), ("D", "A")]},
    {"forbid": [("A", "B"), ("B", "A"), ("C", "D")], "require": [("D", "B")]},
    {"require": [("B", "A"), ("C", "A")]},
]


def constraints_of(known):
    tiers = [list(tier) for tier in known.get("tiers", ())]
    return Constraints.of(NAMES, **{**known, "tiers": tiers})


@pytest.mark.parametrize("known", KNOWLEDGE)
def test_under_constraints_moves_stay_legal_and_few_are_missed(known):
    constraints = constraints_of(known)
    legal = {g for g in map(to_parents, FOUR) if is_legal(g, constraints)}
    n_found, n_missed = 0, 0
    for name, members in by_class(legal).items():
        state = class_of(members[0], constraints)
        wanted, found = defaultdict(set), defaultdict(set)
        for kind, graph in chain.from_iterable(map(one_arc_away, members)):
            if graph in legal and label(graph) != name:
                wanted[kind].add(label(graph))
        for kind in KINDS:
            for move in moves(state, kind, constraints):
                graph = kind.result(state, move)
                if graph is not None and is_acyclic(graph):
                    assert tuple(graph) in legal
                    found[kind.name].add(label(graph))
            assert found[kind.name] - {name} <= wanted[kind.name]
            n_found += len(found[kind.name] & wanted[kind.name])
            n_missed += len(wanted[kind.name] - found[kind.name])
    assert n_missed <= 0.01 * n_found


@pytest.mark.parametrize("known", [{}, *KNOWLEDGE])
def test_the_class_is_that_of_the_graph_library_with_what_is_known(known):
    constraints = constraints_of(known)
    for dag in FOUR:
        if not is_legal(to_parents(dag), constraints):
            continue
        state = class_of(to_parents(dag), constraints)
        graph = cs.CPDAG.of(dag)
        ways = chain.from_iterable((edge, edge[::-1]) for edge in graph.undirected)
        place = NAMES.index
        one_way = [(a, b) for a, b in ways if not constraints.allowed[place(b), place(a)]]
        known_graph = orient(graph, one_way)
        for i, node in enumerate(NAMES):
            assert {NAMES[j] for j in bits(state.parents[i])} == set(known_graph.parents(node))
            assert {NAMES[j] for j in bits(state.neighbors[i])} == set(known_graph.neighbors(node))
            assert {NAMES[j] for j in bits(state.children[i])} == set(known_graph.children(node))


def test_a_member_has_the_wanted_parents_or_there_is_none():
    for name, members in by_class(map(to_parents, FOUR)).items():
        state = EquivalenceClass.of(*name)
        for y in range(4):
            for given in range(16):
                if given & ~state.neighbors[y]:
                    continue
                found = state.member({y: given})
                wanted = [g for g in members if g[y] == state.parents[y] | given]
                is_clique = all(
                    state.adjacent[a] >> b & 1 for a, b in combinations(list(bits(given)), 2)
                )
                if is_clique:
                    assert tuple(found) in wanted
                else:
                    assert not wanted


def test_cliques_come_by_size_and_all_of_them():
    state = class_of(to_parents(cs.DAG.parse("[A][B|A][C|A:B][D|C]")))
    assert list(state.cliques(0b1111)) == [
        *(0b0000, 0b0001, 0b0010, 0b0100, 0b1000),
        *(0b0011, 0b0101, 0b0110, 0b1100),
        0b0111,
    ]
