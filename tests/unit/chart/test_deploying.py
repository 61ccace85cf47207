"""The files of other deploying tools, kind and skaffold: of the shape that these read, and about things that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml

from tests.support.chart import CHART, PROFILES, ROOT, render
from tools.images.__main__ import SMALL

if TYPE_CHECKING:
    from tests.support.chart import Object

TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}
PORT = {"type": "integer", "minimum": 1, "maximum": 65535}


def _object(required: tuple[str, ...] = (), **properties: object) -> Object:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _list(items: object) -> Object:
    return {"type": "array", "items": items, "minItems": 1}


# What kind's v1alpha4 knows of the fields that are used here.
KIND = _object(
    ("kind", "apiVersion", "nodes"),
    kind={"const": "Cluster"},
    apiVersion={"const": "kind.x-k8s.io/v1alpha4"},
    nodes=_list(
        _object(
            ("role",),
            role={"enum": ["control-plane", "worker"]},
            labels={"type": "object", "additionalProperties": TEXT},
            extraPortMappings=_list(_object(("containerPort", "hostPort"), containerPort=PORT, hostPort=PORT)),
        )
    ),
)
# And skaffold's v4beta11.
_COMMANDS = _list(_object(("command",), command=TEXTS))
_ARTIFACT = _object(
    ("image", "docker"),
    image=TEXT,
    docker=_object(("dockerfile",), dockerfile=TEXT),
    hooks=_object(before=_COMMANDS, after=_COMMANDS),
)
_RELEASE = _object(
    ("name", "chartPath"),
    name=TEXT,
    chartPath=TEXT,
    valuesFiles=TEXTS,
    setValueTemplates={"type": "object", "additionalProperties": TEXT},
    wait={"type": "boolean"},
)
_PATCH = _object(("op", "path", "value"), op={"enum": ["add", "remove", "replace"]}, path=TEXT, value={})
SKAFFOLD = _object(
    ("apiVersion", "kind", "build", "deploy"),
    apiVersion={"const": "skaffold/v4beta11"},
    kind={"const": "Config"},
    metadata=_object(name=TEXT),
    build=_object(("artifacts",), artifacts=_list(_ARTIFACT), local=_object(push={"type": "boolean"})),
    deploy=_object(("helm",), helm=_object(("releases",), releases=_list(_RELEASE))),
    profiles=_list(_object(("name",), name=TEXT, patches=_list(_PATCH))),
)


def _read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text())


@pytest.mark.parametrize(("file", "schema"), [("deploy/k8s/kind.yaml", KIND), ("skaffold.yaml", SKAFFOLD)])
def test_the_file_has_the_shape_that_its_tool_reads(file: str, schema: Object) -> None:
    jsonschema.validate(_read(file), schema)
    wrong = {**_read(file), "nodez": []}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema)


def test_skaffold_builds_the_images_of_the_chart() -> None:
    artifacts = {each["image"]: each["docker"]["dockerfile"] for each in _read("skaffold.yaml")["build"]["artifacts"]}
    assert artifacts == {image.name: image.file for image in SMALL}
    assert all((ROOT / file).exists() for file in artifacts.values())


def test_skaffold_deploys_the_chart_with_values_that_it_has() -> None:
    config = _read("skaffold.yaml")
    release = config["deploy"]["helm"]["releases"][0]
    assert ROOT / release["chartPath"] == CHART
    defaults = _read(f"{release['chartPath']}/values.yaml")
    variables = {image.name.replace("-", "_") for image in SMALL}
    for path, template in release["setValueTemplates"].items():
        assert isinstance(_at(defaults, path.split(".")), str), path
        assert set(re.findall(r"IMAGE_(?:REPO|TAG)_([a-z_]+)", template)) <= variables
    for file in release["valuesFiles"]:
        assert Path(file).stem in PROFILES


def test_patches_of_skaffolds_profiles_change_what_is_there() -> None:
    config = _read("skaffold.yaml")
    for profile in config["profiles"]:
        for patch in profile["patches"]:
            assert _at(config, patch["path"].strip("/").split("/"))
            assert all((ROOT / file).exists() for file in patch["value"])


def test_kind_maps_the_ports_that_its_values_advertise() -> None:
    values = _read("deploy/k8s/kind-values.yaml")
    rendered = render(values, profile="ha")
    services = [each["spec"] for each in rendered.all("Service") if each["spec"].get("type") == "NodePort"]
    advertised = {port["nodePort"] for spec in services for port in spec["ports"] if "nodePort" in port}
    nodes = _read("deploy/k8s/kind.yaml")["nodes"]
    mapped = {each["containerPort"] for node in nodes for each in node.get("extraPortMappings", [])}
    assert mapped == advertised


def _at(tree: Any, path: list[str]) -> Any:
    for key in path:
        tree = tree[int(key)] if isinstance(tree, list) else tree[key]
    return tree
