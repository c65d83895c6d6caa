from __future__ import annotations

import re

import pytest
from file_networks import assert_same, family

from consilience.errors import FormatError
from consilience.files.xmlbif import parse

TEXT = """<?xml version="1.0" encoding="US-ASCII"?>
<!-- DTD for the XMLBIF 0.3 format -->
<!DOCTYPE BIF [
  <!ELEMENT BIF ( NETWORK )*>
    <!ATTLIST BIF VERSION CDATA #REQUIRED>
  <!ELEMENT NETWORK ( NAME, ( PROPERTY | VARIABLE | DEFINITION )* )>
]>
<BIF VERSION="0.3">
<NETWORK>
<NAME>Dog-Problem</NAME>
<PROPERTY>software = somebody's</PROPERTY>
<VARIABLE TYPE="nature"><NAME>A</NAME><OUTCOME>a0</OUTCOME><OUTCOME> a1 </OUTCOME>
  <PROPERTY>position = (1, 2)</PROPERTY></VARIABLE>
<VARIABLE><NAME>
  B </NAME><OUTCOME>b0</OUTCOME><OUTCOME>b1</OUTCOME><OUTCOME>b2</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>C</NAME><OUTCOME>c0</OUTCOME><OUTCOME>c1</OUTCOME></VARIABLE>
<DEFINITION><FOR>A</FOR><TABLE>.1 <!-- a1 follows --> 9e-1</TABLE></DEFINITION>
<DEFINITION><FOR>B</FOR><TABLE>0.2 0.3 0.5</TABLE></DEFINITION>
<DEFINITION><FOR>C</FOR><GIVEN>A</GIVEN><GIVEN>B</GIVEN>
<TABLE>
  0.01 0.99
  0.02 0.98
  0.03 0.97
  0.11 0.89
  0.12 0.88
  0.13 0.87
</TABLE></DEFINITION>
</NETWORK>
</BIF>
"""


def test_a_file_with_a_document_type_and_comments_is_read():
    assert_same(parse(TEXT, "net.xml"), family())


def test_elements_may_be_lower_case():
    lower = re.sub(r"</?[A-Z]+", lambda match: match[0].lower(), TEXT[TEXT.index("<BIF") :])
    assert_same(parse(lower, "net.xml"), family())


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("<BIF VER", "<FIB VER", 29, "not well-formed XML: mismatched tag"),
        ("</NETWORK>", "", 29, "mismatched tag"),
        ("#REQUIRED>", '#REQUIRED> <!ENTITY a "b">', 5, "entities are not accepted"),
        ("#REQUIRED>", "#REQUIRED> <!ENTITY % a SYSTEM 'x'> %a;", 5, "entities are not accepted"),
        ("a0<", "&a;<", 12, "undefined entity"),
        ('TYPE="nature"><NAME>A', 'TYPE="utility"><NAME>A', 12, "'A' is of type 'utility'"),
        ("<NAME>C</NAME>", "", 16, "one <NAME> inside <VARIABLE>, found 0"),
        ("<NAME>C</NAME>", "<NAME>A</NAME>", 16, "'A' is declared twice"),
        ("<NAME>C</NAME>", "<NAME> </NAME>", 16, "name must be text"),
        ("<OUTCOME>c0</OUTCOME><OUTCOME>c1</OUTCOME>", "", 16, "at least one"),
        ("<OUTCOME>c0</OUTCOME>", "<OUTCOME/>", 16, "not empty"),
        ("<FOR>B</FOR>", "", 18, "one <FOR> inside <DEFINITION>, found 0"),
        ("<FOR>B</FOR>", "<FOR>B</FOR><FOR>C</FOR>", 18, "found 2"),
        ("<FOR>B</FOR>", "<FOR>A</FOR>", 18, "needs 2 numbers, found 3"),
        ("<FOR>B</FOR>", "<FOR>Z</FOR>", 18, "unknown node 'Z'"),
        ("0.2 0.3 0.5", "0.2 0.3 half", 18, "only numbers in the table of 'B'"),
        ("0.2 0.3 0.5", "0.2 0.3 0.4", 18, "row 1 of 'B' .* sums to 0.9"),
        ("0.12 0.88", "0.12 0.78", 25, "row 5 of 'C' given A=a1, B=b1 .* sums to 0.9"),
    ],
)
def test_a_mistake_is_named_with_its_line(old, new, line, message):
    assert old in TEXT
    with pytest.raises(FormatError) as error:
        parse(TEXT.replace(old, new, 1), "net.xml")
    assert error.value.culprits == {"file": "net.xml", "line": line}
    assert re.search(message, str(error.value))


def test_another_document_is_refused():
    with pytest.raises(FormatError, match=r"expected <BIF>, found <smile>"):
        parse("<smile/>", "net.xml")
    with pytest.raises(FormatError, match="a <VARIABLE>"):
        parse("<BIF><NETWORK/></BIF>", "net.xml")


def test_a_reference_to_an_entity_of_an_outside_document_is_refused():
    text = TEXT.replace("<!DOCTYPE BIF [", '<!DOCTYPE BIF SYSTEM "bif.dtd" [').replace(
        "a0<", "&a;<"
    )
    with pytest.raises(FormatError, match="entities are not accepted"):
        parse(text, "net.xml")


def test_nesting_is_bounded():
    with pytest.raises(FormatError, match="nest deeper"):
        parse("<BIF>" + "<a>" * 100_000, "net.xml")
