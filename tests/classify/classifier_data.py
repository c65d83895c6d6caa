"""Rows of three hospitals that classifiers are tested on."""

from __future__ import annotations

import pandas as pd
from scipy.special import softmax

import consilience as cs

HOSPITALS = ("north", "south", "east")
FEATURES = ["fever", "rash", "smoke"]


def patients(n_rows: int = 400, seed: int = 1) -> pd.DataFrame:
    """Complete rows: a class, three features that depend on it, the hospital."""
    dag = cs.DAG.parse("[hospital][ill|hospital][fever|ill:hospital][rash|ill:fever][smoke|ill]")
    states = {"hospital": 3, "ill": 2, "fever": 3, "rash": 2, "smoke": 4}
    frame = cs.random_network(dag, n_states=states, seed=4).sample(n_rows, seed=seed).to_frame()
    frame["hospital"] = frame["hospital"].cat.rename_categories(HOSPITALS)
    frame = frame.astype(str)
    frame[["ill", *FEATURES]] = "s" + frame[["ill", *FEATURES]]
    return frame


def with_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with a gap in every third row."""
    gappy = frame.copy()
    for k, name in enumerate(frame.columns):
        gappy.loc[gappy.index % (3 * len(frame.columns)) == 3 * k, name] = None
    return gappy


def beliefs(left_out, shrinking):
    """Probability of each state of the class for each row that is left out."""
    logs = left_out.outside(shrinking) + left_out.of_tables(shrinking)
    for k in range(len(left_out.regressions)):
        logs = logs + left_out.of_regression(k, *shrinking.of_regression(k))
    return softmax(logs, axis=1)
