"""The manifests of extras/kubernetes by their schemas: Kubernetes' own, and KubeRay's of the release that they name."""

from __future__ import annotations

import copy
import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from netanvil import campaign

KUBERNETES = "1.31"
KUBERAY = "github.com/ray-project/kuberay/ray-operator@v1.4.0"
MANIFEST = Path(__file__).parents[2] / "extras" / "kubernetes" / "campaign.yaml"

Object = dict[str, Any]


def manifest() -> dict[str, Object]:
    return {each["kind"]: each for each in yaml.safe_load_all(MANIFEST.read_text())}


@pytest.fixture(scope="module")
def ray_job_schema() -> Object:
    """KubeRay's definition, brought by the Go tool as a module: nobody packs it for Python."""
    if shutil.which("go") is None:
        pytest.skip("no go, which brings KubeRay's definition")
    told = subprocess.run(["go", "mod", "download", "-json", KUBERAY], capture_output=True, text=True, cwd="/")
    folder = json.loads(told.stdout).get("Dir")
    assert folder, told.stdout + told.stderr
    definition = yaml.safe_load((Path(folder) / "config/crd/bases/ray.io_rayjobs.yaml").read_text())
    version = next(each for each in definition["spec"]["versions"] if each["name"] == "v1")
    schema: Object = strict(version["schema"]["openAPIV3Schema"])
    return schema


def strict(schema: Any) -> Any:
    """The schema as JSON Schema: a field that it does not name is an error, as with `kubectl --validate=strict`."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: strict(each) for name, each in schema.items()}
    if isinstance(schema.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        # Of metadata a definition says that it is an object, and no more.
        made.setdefault("additionalProperties", False)
    if schema.get("x-kubernetes-int-or-string"):
        made.pop("type", None)
    return made


def test_the_job_is_one_that_kuberay_takes(ray_job_schema: Object) -> None:
    job = manifest()["RayJob"]
    assert (job["apiVersion"], job["metadata"]["generateName"]) == ("ray.io/v1", "netanvil-nightly-")
    jsonschema.Draft202012Validator(ray_job_schema).validate(job)
    # The check finds what is wrong deep within.
    for wrong in ({"replica": 1}, {"replicas": "four"}):
        other = copy.deepcopy(job)
        other["spec"]["rayClusterSpec"]["workerGroupSpecs"][0].update(wrong)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(ray_job_schema).validate(other)


def test_the_rest_is_what_kubernetes_takes() -> None:
    documents = manifest()
    job = documents.pop("RayJob")
    assert set(documents) == {"ConfigMap", "Secret", "PersistentVolumeClaim"}
    cluster = job["spec"]["rayClusterSpec"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    pods = [{"apiVersion": "v1", "kind": "Pod", **group["template"]} for group in groups]
    for document in [*documents.values(), *pods]:
        kubernetes_validate.validate(document, KUBERNETES, strict=True)


def test_what_is_named_is_there() -> None:
    documents = manifest()
    cluster = documents["RayJob"]["spec"]["rayClusterSpec"]
    head = cluster["headGroupSpec"]["template"]["spec"]
    volumes = {each["name"]: each for each in head["volumes"]}
    assert volumes["description"]["configMap"]["name"] == documents["ConfigMap"]["metadata"]["name"]
    claimed = documents["PersistentVolumeClaim"]["metadata"]["name"]
    assert volumes["runs"]["persistentVolumeClaim"]["claimName"] == claimed
    container = head["containers"][0]
    assert {each["name"] for each in container["volumeMounts"]} == set(volumes)
    address = container["env"][0]["valueFrom"]["secretKeyRef"]
    assert address["name"] == documents["Secret"]["metadata"]["name"]
    assert address["key"] in documents["Secret"]["stringData"]
    entrypoint = documents["RayJob"]["spec"]["entrypoint"]
    assert f"${container['env'][0]['name']}" in entrypoint
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert all(f"{mounts['description']}/{name}" in entrypoint for name in documents["ConfigMap"]["data"])
    assert f'--out "{mounts["runs"]}/' in entrypoint


def test_each_night_has_a_campaign_of_its_own(tmp_path: Path) -> None:
    documents = manifest()
    description = documents["ConfigMap"]["data"]["nightly.toml"]
    (tmp_path / "nightly.toml").write_text(description)
    (tmp_path / "python").write_text('#!/bin/sh\nshift 2\ncp "$1" "$OUT"\necho "$@" > "$OUT.words"\n')
    (tmp_path / "python").chmod(0o755)
    # As the head's shell runs it, on another folder and with a program that keeps what it is given.
    command = documents["RayJob"]["spec"]["entrypoint"].replace("/etc/netanvil", str(tmp_path))
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "RESULTS": "postgres://db", "OUT": str(tmp_path / "out.toml")}
    subprocess.run(["sh", "-c", command.replace("/tmp/$night", str(tmp_path / "$night"))], env=environment, check=True)
    [name] = [line for line in (tmp_path / "out.toml").read_text().splitlines() if line.startswith("name = ")][:1]
    assert name.startswith('name = "nightly 20')
    assert "--db postgres://db --out /runs/20" in (tmp_path / "out.toml.words").read_text()


def test_every_job_finds_a_node(tmp_path: Path) -> None:
    documents = manifest()
    description = tmp_path / "nightly.toml"
    description.write_text(documents["ConfigMap"]["data"]["nightly.toml"])
    groups = documents["RayJob"]["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    offers = []
    for group in groups:
        # It is read by a shell, which takes the outer quotes away.
        [told] = shlex.split(group["rayStartParams"].get("resources", "{}"))
        resources = json.loads(told)
        # KubeRay reads it too, and takes away quotes alone.
        assert json.loads(group["rayStartParams"].get("resources", "{}").strip("'")) == resources
        limits = group["template"]["spec"]["containers"][0]["resources"]["limits"]
        offers.append({"cores": int(limits["cpu"]), **resources})
    jobs = campaign.jobs(description)
    assert {job.device for job in jobs} == {"model of a router", "dut-x"}
    for job in jobs:
        needs = {"cores": job.cores, **job.resources}
        assert any(all(offer.get(name, 0) >= count for name, count in needs.items()) for offer in offers), job
