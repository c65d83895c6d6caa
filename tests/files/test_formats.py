"""The contract of every format."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pytest
from file_networks import assert_same, chain, family, networks
from hypothesis import given, strategies as st

from consilience.data.variable import Variable
from consilience.distributions.categorical import Categorical
from consilience.errors import (
    FormatError,
    MissingFileError,
    ModelError,
    UnknownNameError,
)
from consilience.files.registry import FORMATS, load, save
from consilience.network.network import Network

EXTENSIONS = sorted(FORMATS.keys() - {".xml"})
every_format = pytest.mark.parametrize("extension", EXTENSIONS)
tame = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,6}", fullmatch=True)


@every_format
@given(data=st.data())
def test_what_is_written_is_read_back_whatever_the_names(extension, data):
    net = data.draw(networks())
    form = FORMATS[extension]
    assert_same(form.parse(form.write(net), "net"), net)


@every_format
@given(net=networks(name=tame))
def test_writing_what_was_read_gives_the_same_text(extension, net):
    form = FORMATS[extension]
    text = form.write(net)
    again = form.parse(text, "net")
    if extension == ".json":
        again = Network.of(list(again.distributions.values()), source=again.source)
    assert form.write(again) == text


@every_format
@given(net=networks(name=tame), other=st.sampled_from(EXTENSIONS))
def test_a_network_passes_through_any_two_formats(extension, net, other):
    first, second = FORMATS[extension], FORMATS[other]
    assert_same(second.parse(second.write(first.parse(first.write(net), "")), ""), net)


@every_format
@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("upper", [False, True])
def test_a_file_is_found_by_its_extension(tmp_path, extension, packed, upper):
    ending = extension + packed
    path = tmp_path / f"model.v2{ending.upper() if upper else ending}"
    save(family(), path)
    assert_same(load(str(path)), family())
    assert path.read_bytes().startswith(b"\x1f\x8b") == bool(packed)


@every_format
def test_parents_may_come_after_their_children(tmp_path, extension):
    save(family(child_last=False), tmp_path / f"net{extension}")
    assert_same(load(tmp_path / f"net{extension}"), family(child_last=False))


@every_format
def test_extreme_numbers_keep_all_their_digits(tmp_path, extension):
    row = [5e-324, 1e-300, 1 / 3, 0.1 + 0.2]
    a = Variable("A", ("w", "x", "y", "z", "rest"))
    net = Network.of([Categorical(a, (), np.array([*row, 1 - sum(row)]))])
    save(net, tmp_path / f"net{extension}")
    assert load(tmp_path / f"net{extension}")["A"].table.tolist() == net["A"].table.tolist()


@every_format
def test_equal_networks_give_equal_files_packed_or_not(tmp_path, extension, monkeypatch):
    for ending in (extension, f"{extension}.gz"):
        save(chain(), tmp_path / f"one{ending}")
        monkeypatch.setattr("time.time", lambda: 2e9)
        save(chain(), tmp_path / f"two{ending}")
        assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"two{ending}").read_bytes()


@every_format
def test_the_source_is_kept_and_can_be_named(tmp_path, extension):
    path = tmp_path / f"net{extension}"
    net = chain()
    save(Network.of(list(net.distributions.values()), source="A"), path)
    assert load(path).source == "A"
    save(net, path)
    assert load(path).source is None
    assert load(path, source="A").source == "A"
    with pytest.raises(UnknownNameError, match="'hospital'"):
        load(path, source="hospital")
    with pytest.raises(ModelError, match="must be a root"):
        load(path, source="B")


@every_format
def test_the_record_names_the_file(tmp_path, extension):
    save(chain(), tmp_path / f"chain{extension}")
    method = load(tmp_path / f"chain{extension}").record.method
    assert method == ("" if extension == ".json" else f"read from chain{extension}")


@every_format
@pytest.mark.parametrize("off", [2e-8, -9e-4])
def test_rows_that_are_slightly_off_are_divided_by_their_sum_and_noted(extension, off):
    form = FORMATS[extension]
    text = form.write(chain(a=[0.25, 0.75])).replace("0.75", repr(0.75 + off))
    net = form.parse(text, "net")
    assert net["A"].table == pytest.approx([0.25 / (1 + off), (0.75 + off) / (1 + off)], rel=1e-15)
    (note,) = net.record.notes
    assert "'A'" in note
    assert f"{abs(off):.2g}" in note


@every_format
def test_rows_within_rounding_of_one_are_kept_in_silence(extension):
    form = FORMATS[extension]
    text = form.write(chain(a=[0.25, 0.75])).replace("0.75", repr(0.75 + 5e-13))
    net = form.parse(text, "net")
    assert net["A"].table.tolist() == [0.25, 0.75 + 5e-13]
    assert net.record.notes == ()


@every_format
@pytest.mark.parametrize("entry", ["0.7", "0.752", "-0.75", "1e400", "1" + "0" * 5000, "7e1"])
def test_rows_that_are_far_off_are_refused(extension, entry):
    form = FORMATS[extension]
    text = form.write(chain(b=[[0.125, 0.875], [0.25, 0.75]])).replace("0.75", entry)
    with pytest.raises(FormatError) as error:
        form.parse(text, "far")
    assert error.value.culprits["file"] == "far"


@every_format
@pytest.mark.parametrize(
    "entry", ["nan", "NaN", "inf", "Infinity", "-Infinity", "0x1", "1_0", "٣", "a"]
)
def test_what_is_not_a_number_is_refused(extension, entry):
    form = FORMATS[extension]
    with pytest.raises(FormatError):
        form.parse(form.write(chain(a=[0.25, 0.75])).replace("0.75", entry), "net")


@every_format
def test_a_cycle_is_refused_with_the_file(extension):
    form = FORMATS[extension]
    a, b = Variable("AAA", ("x", "y")), Variable("BBB", ("u", "v"))
    flat = np.full((2, 2), 0.5)
    c = Variable("CCC", ("x", "y"))
    net = Network.of(
        [Categorical(c, (), [0.5, 0.5]), Categorical(a, (c,), flat), Categorical(b, (a,), flat)]
    )
    text = form.write(net)
    arcs = {
        ".json": ('"parents": ["CCC"]', '"parents": ["BBB"]'),
        ".bif": ("AAA | CCC ) {\n  (x) 0.5, 0.5;\n  (y)", "AAA | BBB ) {\n  (u) 0.5, 0.5;\n  (v)"),
        ".xmlbif": ("<GIVEN>CCC", "<GIVEN>BBB"),
        ".xdsl": ("<parents>CCC", "<parents>BBB"),
        ".net": ("(AAA | CCC)", "(AAA | BBB)"),
    }
    assert arcs[extension][0] in text
    with pytest.raises(FormatError, match=r"^loop: .*cycle"):
        form.parse(text.replace(*arcs[extension]), "loop")


@every_format
def test_a_state_that_stands_twice_is_refused(extension):
    form = FORMATS[extension]
    text = re.sub(r"\bv\b", "u", form.write(chain()))
    with pytest.raises(FormatError, match=r"^twins.*'u' stands twice"):
        form.parse(text, "twins")


@every_format
@pytest.mark.parametrize(
    "text", ["", " ", "\n", "{}", "[]", "null", "nothing", "<a/>", "<BIF/>", "\x00"]
)
def test_what_is_no_network_is_refused(extension, text):
    with pytest.raises(FormatError, match=r"^empty"):
        FORMATS[extension].parse(text, "empty")


@every_format
def test_a_byte_order_mark_is_passed_over(tmp_path, extension):
    path = tmp_path / f"net{extension}"
    path.write_bytes(b"\xef\xbb\xbf" + FORMATS[extension].write(chain()).encode())
    assert_same(load(path), chain())


@every_format
def test_lines_may_end_with_carriage_returns(tmp_path, extension):
    path = tmp_path / f"net{extension}"
    path.write_bytes(FORMATS[extension].write(family()).replace("\n", "\r\n").encode())
    assert_same(load(path), family())


@pytest.mark.parametrize("extension", [".bif", ".net", ".xmlbif", ".xdsl"])
def test_text_that_is_not_utf8_is_read_as_latin_and_noted(tmp_path, extension):
    path = tmp_path / f"net{extension}"
    text = FORMATS[extension].write(chain())
    text = f"// größe\n{text}" if extension == ".bif" else text
    text = f"% größe\n{text}" if extension == ".net" else text.replace("?>", "?><!-- größe -->")
    path.write_bytes(text.encode("latin-1"))
    net = load(path)
    assert_same(net, chain())
    assert "Latin-1" in net.record.notes[-1]


def test_json_that_is_not_utf8_is_refused(tmp_path):
    (tmp_path / "net.json").write_bytes(b'{"format": "\xff"}')
    with pytest.raises(FormatError, match="not UTF-8"):
        load(tmp_path / "net.json")


@pytest.mark.parametrize("extension", [".xmlbif", ".xdsl"])
@pytest.mark.parametrize("encoding", ["ISO-8859-1", "UTF-16", "windows-1252", "us-ascii"])
def test_xml_follows_its_declared_encoding(tmp_path, extension, encoding):
    path = tmp_path / f"net{extension}"
    text = FORMATS[extension].write(chain()).replace("UTF-8", encoding)
    text = text if encoding == "us-ascii" else text.replace("?>", "?><!-- größe -->")
    path.write_bytes(text.encode(encoding))
    net = load(path)
    assert_same(net, chain())
    assert not net.record.notes


def test_an_unknown_encoding_is_refused(tmp_path):
    (tmp_path / "net.xml").write_bytes(b'<?xml version="1.0" encoding="martian"?><BIF/>')
    with pytest.raises(FormatError, match="'martian'"):
        load(tmp_path / "net.xml")


@pytest.mark.parametrize(
    "name", ["net", "net.txt", "net.bif.zip", ".bif", "net.gz", "net.json.GZ.x"]
)
def test_an_unknown_extension_names_the_known_ones(tmp_path, name):
    for act in (lambda: load(tmp_path / name), lambda: save(chain(), tmp_path / name)):
        with pytest.raises(FormatError, match=r"'\.bif'.*'\.xdsl'.*'\.gz'"):
            act()
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"nowhere\.bif"):
        load(tmp_path / "nowhere.bif")
    with pytest.raises(MissingFileError, match="nowhere"):
        save(chain(), tmp_path / "nowhere" / "net.bif")
    (tmp_path / "folder.bif").mkdir()
    with pytest.raises(MissingFileError, match=r"folder\.bif"):
        load(tmp_path / "folder.bif")


@pytest.mark.parametrize(
    "data", [b"", b"plain", b"\x1f\x8b\x08", gzip.compress(b"a" * 99, mtime=0)[:-9]]
)
def test_a_broken_gzip_file_is_refused(tmp_path, data):
    (tmp_path / "net.bif.gz").write_bytes(data)
    with pytest.raises(FormatError, match=r"^net\.bif\.gz"):
        load(tmp_path / "net.bif.gz")


def test_a_text_larger_than_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("consilience.files.registry.TEXT_LIMIT", 1000)
    (tmp_path / "net.bif.gz").write_bytes(gzip.compress(b" " * 2000))
    with pytest.raises(MemoryError, match=r"net\.bif\.gz"):
        load(tmp_path / "net.bif.gz")


@pytest.mark.parametrize("extension", [".json", ".bif", ".net"])
def test_half_a_surrogate_pair_is_refused_before_anything_is_written(tmp_path, extension):
    net = Network.of([Categorical(Variable("A", ("\ud800", "b")), (), [0.5, 0.5])])
    path = tmp_path / f"net{extension}"
    path.write_text("old")
    with pytest.raises(ModelError, match="surrogate"):
        save(net, path)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


def test_nothing_half_written_is_left_behind(tmp_path, monkeypatch):
    path = tmp_path / "net.bif"
    path.write_text("old")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        save(chain(), path)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


def test_a_saved_file_has_the_usual_permissions(tmp_path):
    save(chain(), tmp_path / "net.bif")
    (tmp_path / "plain").write_text("")
    modes = {(tmp_path / name).stat().st_mode for name in ("net.bif", "plain")}
    assert len(modes) == 1


@every_format
def test_a_large_table_passes_through(tmp_path, extension):
    rng = np.random.default_rng(1)
    parents = [Variable(f"P{i}", tuple(f"s{j}" for j in range(50))) for i in range(2)]
    child = Variable("C", tuple(f"s{j}" for j in range(100)))
    flat = [Categorical(parent, (), np.full(50, 0.02)) for parent in parents]
    table = rng.dirichlet(np.ones(100), size=(50, 50))
    net = Network.of([*flat, Categorical(child, tuple(parents), table)])
    save(net, tmp_path / f"net{extension}")
    assert_same(load(tmp_path / f"net{extension}"), net)


def test_xml_is_xmlbif():
    assert FORMATS[".xml"] == FORMATS[".xmlbif"]
