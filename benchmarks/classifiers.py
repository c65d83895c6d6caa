"""Classifiers: fit and predict on Adult (48,842 rows, 14 columns), beside scikit-learn's pipeline.

Everyone starts from the same pandas frame, so reading, coding and cutting are inside the clock, and
predicts its own training rows. The peer is what a user of scikit-learn would write: five quantile
bins, the mode for gaps, ordinal codes, CategoricalNB. It knows no sources; ours are also run with
the sources by sex. The last rows predict 100,000 rows.

    CONSILIENCE_DATA=... python benchmarks/classifiers.py
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from bench import data_dir, measure, show
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder

import consilience as cs
from consilience.classify.classifiers import NaiveBayesClassifier, TANClassifier

PEER = "scikit-learn, NB"
OURS = "consilience, NB, pooled"


def main() -> None:
    path = data_dir() / "adult.csv.gz"
    frame = pd.read_csv(path, keep_default_na=False, na_values=["", "?"])
    rows, classes = frame.drop(columns="income"), frame["income"]
    contestants = {
        PEER: pipeline(rows),
        OURS: NaiveBayesClassifier(cs.Pooled(cs.Dirichlet())),
        "consilience, NB, HDMCS by sex": NaiveBayesClassifier(cs.HDMCS(), source="sex"),
        "consilience, NB, HDMJS by sex": NaiveBayesClassifier(cs.HDMJS(), source="sex"),
        "consilience, TAN, pooled": TANClassifier(cs.Pooled(cs.Dirichlet())),
        "consilience, TAN, HDMCS by sex": TANClassifier(cs.HDMCS(), source="sex"),
    }
    fits = {name: measure(lambda c=one: c.fit(rows, classes)) for name, one in contestants.items()}
    show("fit, Adult", fits, OURS)
    show("predict_proba, Adult", predictions(contestants, rows), OURS)
    many = pd.concat([rows] * 3, ignore_index=True).head(100_000)
    show("predict_proba, 100,000 rows", predictions(contestants, many), OURS)
    for name, one in contestants.items():
        print(f"  accuracy on its own rows {one.score(rows, classes):.4f}  {name}")


def predictions(contestants: dict[str, Any], rows: pd.DataFrame) -> dict[str, Any]:
    return {name: measure(lambda c=one: c.predict_proba(rows)) for name, one in contestants.items()}


def pipeline(rows: pd.DataFrame) -> Any:
    text = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OrdinalEncoder(),
    )
    numbers = KBinsDiscretizer(
        5, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf"
    )
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (text, make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(columns, CategoricalNB(min_categories=50))


if __name__ == "__main__":
    main()
