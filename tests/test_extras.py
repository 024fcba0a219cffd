import pytest

from ssba.errors import MissingExtra
from ssba.extras import require


def test_require_passes_what_is_installed_and_names_the_extra_of_what_is_not() -> None:
    require("numpy", "all", "counting")
    with pytest.raises(MissingExtra, match=r"^dreaming needs no_such: pip install 'ssba\[dreams\]'$"):
        require("no_such", "dreams", "dreaming")
