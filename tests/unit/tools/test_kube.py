"""The files that the Kubernetes of tools/kube is made of."""

import hashlib
import json
import tarfile
from ipaddress import IPv4Network
from pathlib import Path

import kubernetes_validate
import pytest

from tools.kube import files, pause_image
from tools.kube.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "cache", tmp_path / "state", services=IPv4Network("10.96.0.0/16"))


def test_addresses_come_from_the_range_of_services(settings: Settings) -> None:
    assert (settings.api_ip, settings.dns_ip) == ("10.96.0.1", "10.96.0.10")


def test_objects_of_the_cluster_are_valid(settings: Settings) -> None:
    items = files.cluster_objects(settings, "192.0.2.7")["items"]
    assert isinstance(items, list)
    for each in items:
        kubernetes_validate.validate(each, "1.34", strict=True)


def test_a_file_is_written_only_when_it_changes(settings: Settings) -> None:
    for folder in ("conf", "cni"):
        (settings.state / folder).mkdir(parents=True)
    files.write_all(settings, "192.0.2.7", 1500)
    before = {file: file.stat().st_mtime_ns for file in settings.state.rglob("*") if file.is_file()}
    files.write_all(settings, "192.0.2.7", 1500)
    assert before == {file: file.stat().st_mtime_ns for file in settings.state.rglob("*") if file.is_file()}
    assert len(before) == 6


def test_the_pause_image_names_its_layer_by_its_digest(tmp_path: Path) -> None:
    program, archive = tmp_path / "pause", tmp_path / "pause.tar"
    program.write_bytes(b"program")
    pause_image.write(program, "localhost/p:1", archive)
    with tarfile.open(archive) as image:
        content = {name: image.extractfile(name) for name in image.getnames()}
        read = {name: file.read() for name, file in content.items() if file is not None}
    manifest, config = json.loads(read["manifest.json"])[0], json.loads(read["config.json"])
    assert manifest == {"Config": "config.json", "RepoTags": ["localhost/p:1"], "Layers": ["layer.tar"]}
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(read['layer.tar']).hexdigest()}"]
