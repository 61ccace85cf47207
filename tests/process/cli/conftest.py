"""One cluster of `tidelog up` for all tests here. Who kills a process of it starts it again."""

import io
import itertools
import shlex
from collections.abc import Callable, Iterator

import pytest

from tests.support.command_line import Done, LocalCluster
from tidelog.cli.app import run

_names = itertools.count()

Run = Callable[..., Done]


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    cluster = LocalCluster(tmp_path_factory.mktemp("cli"))
    try:
        cluster.up()
        yield cluster
    finally:
        cluster.down()


@pytest.fixture
def tidelog(local: LocalCluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line within this process, which is much faster than a process of its own."""
    for name, value in local.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(local.root)

    def run_line(line: str, stdin: str = "") -> Done:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        capsys.readouterr()
        code = run(shlex.split(line))
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        assert "bug in tidelog" not in printed.err, printed.err
        return Done(code, printed.out, printed.err)

    return run_line


@pytest.fixture
def name() -> str:
    """A name that no other test has."""
    return f"n{next(_names)}"


@pytest.fixture
def topic(tidelog: Run, name: str) -> str:
    """A topic of three partitions with ten records, all of them in partition 0."""
    tidelog(f"topics create t-{name} -p 3 -r 3")
    done = tidelog(f"produce t-{name} --partition 0", "".join(f"{number}\n" for number in range(10)))
    assert done.code == 0, done.err
    return f"t-{name}"
