"""The lines of TOML keys, whatever way they are written in."""

import pytest

from ssba.apps.project.locations import Key
from ssba.apps.project.toml_lines import toml_lines

TEXT = '''\
# a comment
plain = 1
dotted.inner."quoted key" = 2
inline = { first = 1, second = ["a",
  "b"] }
many = [
  "one", "two",  # a comment with ] in it

  """three
  and more""",
  [4,
   5],
]
long = """
many = 3
[table]
"""
'single.quoted' = 3

[table]
key = 1
[table.deeper]
key = 2
[[items]]
name = "a"
[[items]]
name = "b"
'''


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (("plain",), 2),
        (("dotted",), 3),
        (("dotted", "inner", "quoted key"), 3),
        (("inline", "first"), 4),
        (("inline", "second", 0), 4),
        (("inline", "second", 1), 5),
        (("many",), 6),
        (("many", 0), 7),
        (("many", 1), 7),
        (("many", 2), 9),
        (("many", 3), 11),
        (("many", 3, 1), 12),
        (("long",), 14),
        (("single.quoted",), 18),
        (("table",), 20),
        (("table", "key"), 21),
        (("table", "deeper", "key"), 23),
        (("items", 0, "name"), 25),
        (("items", 1), 26),
        (("items", 1, "name"), 27),
        (("nothing",), None),
        (("many", 4), None),
        (("plain", "inner"), None),
    ],
)
def test_key_is_found_in_the_line_that_says_it(key: Key, line: int | None) -> None:
    assert toml_lines(TEXT)(key) == line


def test_only_line_feeds_end_a_line() -> None:
    assert toml_lines('# a\u2028comment\nkey = "a\x85b"\nother = 1')(("other",)) == 3
