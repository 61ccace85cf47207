"""cluster.json brings back the shape that was saved, and a broken one is told in a sentence."""

from pathlib import Path

import pytest

from tidelog.local.faults import LocalError
from tidelog.local.layout import Counts, lay_out
from tidelog.local.shape_file import load_shape, save_shape


@pytest.mark.parametrize("port_base", [None, 20000])
@pytest.mark.parametrize("zookeeper", [None, "zk:2181"])
def test_a_saved_shape_comes_back(tmp_path: Path, port_base: int | None, zookeeper: str | None) -> None:
    shape = lay_out(Counts(brokers=2), zookeeper=zookeeper, port_base=port_base)
    save_shape(tmp_path / "cluster.json", shape)
    assert load_shape(tmp_path / "cluster.json") == shape
    assert [file.name for file in tmp_path.iterdir()] == ["cluster.json"]


def test_no_file_is_no_cluster(tmp_path: Path) -> None:
    assert load_shape(tmp_path / "cluster.json") is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2}', '{"version": 1, "processes": [{"role": "moon"}]}'])
def test_what_describes_no_cluster_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "cluster.json").write_text(text)
    with pytest.raises(LocalError, match="does not describe a cluster"):
        load_shape(tmp_path / "cluster.json")
