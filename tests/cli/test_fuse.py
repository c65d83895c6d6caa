from __future__ import annotations

import pytest
from commands import misused, passed, refused, write

import consilience as cs

NET = cs.random_network(cs.DAG.parse("[a][b|a][c|b]"), n_states=2, seed=4)
SEARCH = ("--structure", "tabu")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frames = []
    for seed, name in enumerate(("rome", "oslo", "bonn")):
        frame = NET.sample(150, seed=seed).to_frame()
        frame.to_csv(f"{name}.csv", index=False)
        frames.append(frame.astype(str).assign(city=name))
        cs.save(cs.fit(NET.dag, NET.sample(150, seed=seed)), f"{name}.json")
    rows = "\n".join(",".join(line) for frame in frames for line in frame.to_numpy().tolist())
    write(tmp_path, "all.csv", f"a,b,c,city\n{rows}\n")
    return tmp_path


def test_tables_are_fused_and_the_model_is_written(folder):
    shown = passed("fuse", "rome.csv", "oslo.csv", "bonn.csv", "-o", "fused.json", *SEARCH)
    assert "3: rome, oslo, bonn" in shown
    assert "Votes from (rows) to (columns):" in shown
    assert "what became of it" in shown
    expected = cs.fuse(["rome.csv", "oslo.csv", "bonn.csv"], search=cs.HillClimb(tabu=10))
    net = cs.load(folder / "fused.json")
    assert net.dag == expected.dag
    for node in net.dag.nodes:
        assert net[node].table.tolist() == expected.network[node].table.tolist()


def test_a_column_may_name_the_sources(folder):
    shown = passed("fuse", "all.csv", "--source", "city", "--threshold", "majority", *SEARCH)
    assert "3: rome, oslo, bonn" in shown
    assert "2 of 3 votes (Majority())" in shown


def test_models_and_model_strings_vote_too(folder):
    shown = passed("fuse", "rome.json", "oslo.json", "--parameters", "logarithmic", "-o", "f.bif")
    assert "LogarithmicPool()" in shown
    assert cs.load("f.bif").dag == NET.dag
    shown = passed("fuse", "rome.json", "[a][b|a][c|b]", "[a][b][c|b]", "--threshold", "2")
    assert "rome, graph 2, graph 3" in shown
    assert "a -> b  2 of 3  entered" in shown
    assert "written" not in shown


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--weights", "rows"), "of 3 votes"),
        (("--weights", "rome=2,oslo=1,bonn=0"), "rome 2, oslo 1, bonn 0"),
        (("--weights", "held-out"), "weights"),
        (("--votes", "classes", "--weights", "strength"), "of 3 votes"),
        (("--order", "row-by-row", "--reverse", "--threshold", "1"), "1 of 3 votes (given)"),
        (("--parameters", "matrices"), "PrecisionMatrices()"),
        (("--score", "bdeu"), "of 3 votes"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_every_choice_has_an_option(folder, options, text):
    assert text in passed("fuse", "rome.csv", "oslo.csv", "bonn.csv", *SEARCH, *options)


def test_the_vote_is_drawn(folder):
    shown = passed("fuse", "[a][b|a]", "[a][b]", "--plot", "vote.png")
    assert "vote.png" in shown
    assert (folder / "vote.png").read_bytes().startswith(b"\x89PNG")


def test_notes_tell_what_was_left_out(folder):
    write(folder, "gaps.csv", "a,b,c\n" + "x,u,p\ny,v,q\n" * 20 + "x,,p\n")
    write(folder, "more.csv", "a,b,c\n" + "x,u,p\ny,v,q\n" * 20)
    shown = passed("fuse", "gaps.csv", "more.csv", *SEARCH)
    assert "note: Source 'gaps': 1 of 41 rows have gaps" in shown


def test_what_cannot_be_fused_is_one_line(folder):
    assert "cannot be written to 'x.doc'" in refused("fuse", "[a]", "[b]", "--plot", "x.doc")
    assert "no folder 'gone'" in refused("fuse", "rome.csv", "oslo.csv", "--plot", "gone/x.png")
    assert "at most 2" in refused("fuse", "rome.csv", "oslo.csv", "--threshold", "3", *SEARCH)
    assert "unknown source 'paris'" in refused(
        "fuse", "rome.csv", "oslo.csv", "--weights", "paris=1", *SEARCH
    )
    assert "two files would be the source 'rome'" in refused("fuse", "rome.csv", "rome.json")
    assert "PrecisionMatrices: source 'rome' has no rows" in refused(
        "fuse", "rome.json", "oslo.json", "--parameters", "matrices"
    )


def test_graphs_alone_cannot_be_written(folder):
    said = refused("fuse", "[a][b|a]", "[a][b]", "-o", "x.json")
    assert "graphs alone give no network to write" in said
    assert not (folder / "x.json").exists()


def test_options_that_make_no_sense_are_named(folder):
    assert "a vote needs two sources" in misused("fuse", "rome.csv")
    assert "expected a number, best-score or majority" in misused(
        "fuse", "rome.csv", "oslo.csv", "--threshold", "most"
    )
    assert "expected equal, rows" in misused("fuse", "rome.csv", "oslo.csv", "--weights", "best")
    assert "given twice" in misused("fuse", "rome.csv", "rome.csv")
