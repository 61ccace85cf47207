"""Renders the Helm chart and looks into what came out."""

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "tidelog"
_PROFILE_FILES = {"dev": "profiles/dev.yaml", "ha": "profiles/ha.yaml", "pipeline": "values-pipeline.yaml"}
PROFILES = tuple(_PROFILE_FILES)
RELEASE = "t"
HELM = Path(sys.executable).parent / "helm"

Object = dict[str, Any]


class ChartRefusedError(Exception):
    """helm did not render; the message is what it said."""


@dataclass(frozen=True)
class Rendered:
    """The objects of one `helm template`."""

    text: str

    @cached_property
    def objects(self) -> list[Object]:
        return [each for each in yaml.safe_load_all(self.text) if each]

    def one(self, kind: str, name: str) -> Object:
        """The object of this kind whose name is the release's and `name`."""
        full = f"{RELEASE}-tidelog-{name}" if name else f"{RELEASE}-tidelog"
        found = [each for each in self.objects if (each["kind"], each["metadata"]["name"]) == (kind, full)]
        assert len(found) == 1, f"{len(found)} of {kind} {full}"
        return found[0]

    def all(self, kind: str) -> list[Object]:
        return [each for each in self.objects if each["kind"] == kind]

    def settings(self, component: str) -> dict[str, str]:
        """The file of settings of a component, as a mapping."""
        text: str = self.one("ConfigMap", component)["data"][f"{component}.properties"]
        return dict(line.split("=", 1) for line in text.splitlines())

    def pods(self) -> dict[str, Object]:
        """The pod specifications, by the names of what makes the pods."""
        kinds = ("StatefulSet", "Deployment", "Job")
        owners = [each for each in self.objects if each["kind"] in kinds]
        return {each["metadata"]["name"]: each["spec"]["template"]["spec"] for each in owners}

    def container(self, kind: str, name: str) -> Object:
        container: Object = self.one(kind, name)["spec"]["template"]["spec"]["containers"][0]
        return container

    def environment(self, kind: str, name: str) -> dict[str, Any]:
        env = self.container(kind, name)["env"]
        return {each["name"]: each.get("value", each.get("valueFrom")) for each in env}


def render(*values: Object, profile: str | None = None) -> Rendered:
    """`helm template` with these values, the later ones winning, on top of a profile's."""
    return _render(tuple(json.dumps(each) for each in values), profile)


@lru_cache(maxsize=64)
def _render(values: tuple[str, ...], profile: str | None) -> Rendered:
    command = [str(HELM), "template", RELEASE, str(CHART), "--namespace", "n"]
    if profile is not None:
        command += ["--values", str(CHART / _PROFILE_FILES[profile])]
    for each in values:
        for key, value in json.loads(each).items():
            command += ["--set-json", f"{key}={json.dumps(value)}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise ChartRefusedError(done.stderr)
    return Rendered(done.stdout)
