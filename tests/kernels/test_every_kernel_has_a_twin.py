"""Every compiled loop has a plain twin; this is the list of them.

Functions marked ``@inner`` are reached through the kernels of their module.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import consilience

TESTS = Path(__file__).parents[1]
KERNELS = Path(consilience.__file__).parent / "kernels"

TWINS = {
    "annealing": {"structure/searches/test_annealing.py": "walk"},
    "averages": {
        "kernels/test_average_twins.py": (
            "sum_of_subsets sum_of_supersets orders_from_below orders_to_the_top "
            "graphs_from_below graphs_to_the_top"
        ),
    },
    "cases": {
        "kernels/test_case_twins.py": (
            "hide_barren hidden_sets case_offsets merge_cases joint_places draw_cases "
            "leaf_likelihoods leaf_counts"
        ),
        "kernels/test_expected_cases_twin.py": "expect_cases",
    },
    "chain": {
        "kernels/test_chain_twins.py": (
            "_tail _trigamma_fall _trigamma place _seat _average _newton_step _left_out"
        ),
        "kernels/test_chain_kernels.py": "settle settle_from leave_out",
        "parameters/test_chain.py": "digamma_rise fit_order begin",
    },
    "chain_draws": {"kernels/test_chain_draws_twins.py": "draw_tables sweep"},
    "climbing": {
        "kernels/test_climbing_twins.py": "climb rewire enter likely",
        "structure/searches/test_hill_climb.py": "shake",
    },
    "counting": {
        "kernels/test_group_twins.py": "count_groups count_toggles toggle_sizes",
        "kernels/test_kernel_twins.py": ("count_mixed take_rest arrange fold tally tally_weighted"),
    },
    "fine": {
        "kernels/test_fine_kernels.py": (
            "add_rows_finely merge_finely regress_finely misfits_finely solve_finely "
            "intercepts_finely combine_finely"
        ),
    },
    "graph_walks": {
        "kernels/test_average_twins.py": "walk_orders walk_layers draw_graph turn_arcs layers_of "
        "redraw_parents reverse_arcs",
    },
    "hierarchy": {
        "kernels/test_hierarchy_twins.py": "can_be_exact solve_all draw_tables",
        "parameters/test_hierarchy_exact.py": "digamma log_rising approximate",
    },
    "interface": {"kernels/test_interface_twins.py": "expect_chain expect_chains"},
    "lattice": {
        "kernels/test_lattice_twins.py": "differences best_of_subsets undominated best_of_sets",
    },
    "marginals": {"kernels/test_marginal_twins.py": "number_classes sum_tables"},
    "moments": {"kernels/test_moments_kernel.py": "join center"},
    "normal_cases": {
        "kernels/test_normal_case_twins.py": "condition_cases square_roots add_draws add_moments",
    },
    "noisy_sets": {"kernels/test_average_twins.py": "noisy_sums noisy_arcs"},
    "orders": {
        "kernels/test_lattice_twins.py": (
            "mark_minimal place_order move_best fill_pattern rehash find"
        ),
        "kernels/test_search_twins.py": "expand with_free",
    },
    "regressions": {
        "kernels/test_group_twins.py": "list_toggles",
        "kernels/test_regressions_kernel.py": "regress has_lost log_likelihoods misfits",
    },
    "sampling": {
        "kernels/test_kernel_twins.py": "_uniform",
        "kernels/test_reading_twins.py": "draw_states",
    },
    "scoring": {
        "kernels/test_scoring_twins.py": (
            "log_likelihoods parent_states_seen log_evidences fill_pair_normalizers log_normalizers"
        ),
        "structure/scores/test_score_nml.py": "log_normalizer",
        "structure/scores/test_score_predictive.py": "expected_predictions",
    },
    "segments": {"kernels/test_segment_twins.py": "regression_segments table_segments"},
    "text": {"kernels/test_reading_twins.py": "encode_texts"},
    "tied": {
        "structure/scores/test_by_source.py": "fill_n_log_n log_likelihoods_by_source",
    },
}
WITHOUT = {
    "interface": "pass_forward pass_back best_path",
    "kalman": "filter_rows",
    "kalman_back": "smooth_rows spread_rows",
    "ordering": "greedy_order",
    "propagation": "collect distribute margins residual_margins",
    "trees": "indicators",
    "triangles": "find_triangles",
}
"""Kernels that are compared with brute force through the verbs that call them only."""


def kernels():
    """All functions marked ``@kernel``, as module and name."""
    found = set()
    for path in KERNELS.glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                marks = {mark.id for mark in node.decorator_list if isinstance(mark, ast.Name)}
                if "kernel" in marks:
                    found.add((path.stem, node.name))
    return found


def test_every_kernel_is_listed_with_its_twin():
    listed = [
        (module, n) for module, files in TWINS.items() for f in files.values() for n in f.split()
    ]
    listed += [(module, name) for module, names in WITHOUT.items() for name in names.split()]
    assert len(set(listed)) == len(listed)
    assert set(listed) == kernels()


def test_every_twin_stands_where_the_list_says():
    for files in TWINS.values():
        for file, names in files.items():
            text = (TESTS / file).read_text()
            for name in names.split():
                assert re.search(rf"\b{name}\b", text), (file, name)
