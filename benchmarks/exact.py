"""How far does exact search go? 20 binary variables, 5,000 rows, every family that may matter.

Rows are drawn from a random network of 40 arcs. Each search runs in a process of its own, scoring
included, after a small search that compiles; its peak memory is that of the whole process. A* and
the search over orders run beside it. pyAgrum, PyBNesian and bnlearn-port have no exact search;
pgmpy has one that goes through all graphs, so it gets five variables, of which there are 29,281.

    python benchmarks/exact.py [variables] [rows]
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

from bench import frame_of, measure, peer, show

import consilience as cs

SCORES = {"BIC": cs.BIC(), "BDeu": cs.BDeu()}
SEARCHES = {
    "Exact": cs.Exact(),
    "AStar": cs.searches.AStar(),
    "Exact, 4 parents": cs.Exact(max_parents=4),
    "OrderSearch": cs.searches.OrderSearch(),
}


def main() -> None:
    if len(sys.argv) == 5:
        print(json.dumps(one(*sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4]))))
        return
    p = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    n_rows = int(sys.argv[2]) if len(sys.argv) > 2 else 5000
    print(f"{p} binary variables, {n_rows:,} rows")
    for score in SCORES:
        for search in SEARCHES:
            command = [sys.executable, __file__, search, score, str(p), str(n_rows)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            told = json.loads(done.stdout)
            print(
                f"  {score:<5} {search:<17} CPU {told['cpu']:6.1f} s   wall {told['wall']:6.1f} s"
                f"   {told['families']:>9,} families   {told['memory']:5.0f} MiB   "
                f"score {told['score']:.4f}",
                flush=True,
            )
    exhaustive()


def one(search: str, score: str, p: int, n_rows: int) -> dict[str, float]:
    """Cost and result of one search."""
    cs.search(rows_of(5, 100), search=SEARCHES[search], score=SCORES[score])  # compiles
    table = rows_of(p, n_rows)
    cpu, wall = time.process_time(), time.perf_counter()
    found = cs.search(table, search=SEARCHES[search], score=SCORES[score])
    return {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "families": found.n_scored,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "score": found.score,
    }


def rows_of(p: int, n_rows: int) -> cs.Table:
    dag = cs.random_dag([f"v{i:02d}" for i in range(p)], n_arcs=2 * p, seed=1)
    return cs.random_network(dag, seed=1).sample(n_rows, seed=2)


def exhaustive() -> None:
    pgmpy = peer("pgmpy.estimators")
    if pgmpy is None:
        return
    table = rows_of(5, 5000)
    frame = frame_of(table)
    learner = pgmpy.ExhaustiveSearch(frame, scoring_method=pgmpy.BIC(frame))
    cpu, wall = time.process_time(), time.perf_counter()
    found = learner.estimate()
    slow = time.process_time() - cpu, time.perf_counter() - wall
    score = cs.score(cs.DAG(found.edges(), nodes=list(frame.columns)), table, cs.BIC())
    best = cs.search(table, search=cs.Exact()).score
    title = f"all graphs on 5 variables, 5,000 rows; pgmpy's score less ours: {score - best:.9f}"
    quick = measure(lambda: cs.learn(table, search=cs.Exact()))
    show(title, {"consilience": quick, "pgmpy": slow}, "consilience")


if __name__ == "__main__":
    main()
