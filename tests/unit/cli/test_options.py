"""Arguments that need a decision."""

import pytest
import typer

from tidelog.cli.options import process_id
from tidelog.local.layout import Role


def test_the_id_is_the_one_given() -> None:
    assert process_id(Role.BROKER, 2) == 2
    assert process_id(Role.ZOOKEEPER, 1) == 1


def test_only_zookeeper_needs_no_id() -> None:
    assert process_id(Role.ZOOKEEPER, None) == 0
    with pytest.raises(typer.BadParameter, match="which broker"):
        process_id(Role.BROKER, None)
