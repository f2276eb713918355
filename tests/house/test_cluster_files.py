"""The files of `deploy/cluster` and `deploy/kubernetes`: what one of them names is there."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
import yaml

from vedette.bootstrap.serving import SHUTDOWN_S
from vedette.cli.main import COMMANDS
from vedette.settings import Settings, load
from vedette.settings.catalogue import catalogue
from vedette.settings.load import FOREIGN_VARIABLE
from vedette.state.db.sealing import KEY_FILE
from vedette.store.engine.open import database_of
from vedette.web.http.health_checks import READINESS_S

DEPLOY = Path("deploy")
CLUSTER = DEPLOY / "cluster"
COMPOSE: dict[str, Any] = yaml.safe_load((CLUSTER / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
OBJECTS: list[dict[str, Any]] = [
    one
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    for one in yaml.safe_load_all(path.read_text())
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with its secrets made."""
    folder = tmp_path_factory.mktemp("cluster") / "cluster"
    shutil.copytree(CLUSTER, folder, ignore=shutil.ignore_patterns("secrets"))
    subprocess.run(["sh", str(folder / "make-secrets")], check=True, capture_output=True)
    again = subprocess.run(["sh", str(folder / "make-secrets")], check=False, capture_output=True)
    assert again.returncode == 1  # what there is stays
    return folder


def settings_of(path: Path) -> Settings:
    return load(flags={}, environ={}, config=path).settings


def environment(folder: Path, service: dict[str, Any]) -> dict[str, str]:
    found = dict(service.get("environment", {}))
    if "env_file" in service:
        lines = (folder / service["env_file"]).read_text().splitlines()
        found |= dict(line.split("=", 1) for line in lines)
    return found


def mounts(service: dict[str, Any]) -> list[list[str]]:
    return [one.split(":") for one in service.get("volumes", [])]


def test_the_cluster_has_the_parts_that_it_should() -> None:
    counts = {
        kind: sum(name.startswith(kind) for name in SERVICES)
        for kind in ("keeper-", "clickhouse-", "vedette-", "postgres", "minio", "balancer")
    }
    assert counts == {
        "keeper-": 3,
        "clickhouse-": 4,
        "vedette-": 2,
        "postgres": 2,
        "minio": 1,
        "balancer": 1,
    }


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_what_a_service_names_is_there(name: str, made: Path) -> None:
    service = SERVICES[name]
    known = {
        "image",
        "restart",
        "stop_grace_period",
        "environment",
        "volumes",
        "env_file",
        "user",
        "depends_on",
        "ulimits",
        "healthcheck",
        "command",
        "entrypoint",
        "secrets",
        "build",
        "read_only",
        "tmpfs",
        "cap_drop",
        "security_opt",
        "ports",
        "profiles",
        "networks",
    }
    assert set(service) <= known
    image, _, tag = service["image"].partition(":")
    assert image == "vedette" or tag not in ("", "latest")
    for source, target, *_ in mounts(service):
        assert target.startswith("/")
        assert (made / source).exists() if source.startswith("./") else source in COMPOSE["volumes"]
    for secret in service.get("secrets", []):
        assert secret in COMPOSE["secrets"]
    for one in service.get("depends_on", []):
        assert one in SERVICES
        wants = service["depends_on"]
        condition = wants[one]["condition"] if isinstance(wants, dict) else ""
        assert condition != "service_healthy" or "healthcheck" in SERVICES[one]
    environment(made, service)


def test_every_secret_and_volume_is_used_and_made(made: Path) -> None:
    used = {one for service in SERVICES.values() for one in service.get("secrets", [])}
    assert used == set(COMPOSE["secrets"])
    for one in COMPOSE["secrets"].values():
        assert (made / one["file"]).read_text().strip()
    sources = {mount[0] for service in SERVICES.values() for mount in mounts(service)}
    assert set(COMPOSE["volumes"]) <= sources


def test_no_two_runs_make_the_same_secrets(made: Path, tmp_path: Path) -> None:
    other = tmp_path / "cluster"
    shutil.copytree(made, other, ignore=shutil.ignore_patterns("secrets"))
    subprocess.run(["sh", str(other / "make-secrets")], check=True, capture_output=True)
    for path in (made / "secrets").iterdir():
        assert path.read_bytes() != (other / "secrets" / path.name).read_bytes(), path.name


def test_settings_and_commands_exist_and_name_services(made: Path) -> None:
    settings = settings_of(made / "secrets" / "vedette.toml")
    assert database_of(settings.clickhouse_dsn) == "vedette"
    for url in (settings.clickhouse_dsn, settings.state_dsn, settings.blob_endpoint):
        assert urlsplit(url).hostname in SERVICES
    credentials = settings.blob_credentials_file
    assert credentials is not None
    for name, service in SERVICES.items():
        if service["image"] != "vedette":
            continue
        words = service["command"]
        assert words[0] in COMMANDS
        assert words[words.index("--config") + 1] == "/run/secrets/vedette.toml"
        variables = [one for one in environment(made, service) if one.startswith("VEDETTE_")]
        known = {one.variable for one in catalogue().values()}
        assert all(one in known or FOREIGN_VARIABLE.fullmatch(one) for one in variables), name
        if words[0] == "serve":
            assert credentials.name in service["secrets"]
            assert urlsplit(service["environment"]["VEDETTE_SERVER_URL"]).hostname == name
    administrator = environment(made, SERVICES["init"])["VEDETTE_CLUSTER_ADMIN_DSN"]
    assert urlsplit(administrator).hostname in SERVICES
    password = environment(made, SERVICES["clickhouse-1-1"])["CLICKHOUSE_ADMIN_PASSWORD"]
    assert urlsplit(administrator).password == password


def cluster_of(text: str) -> tuple[list[list[str]], ElementTree.Element]:
    """The hosts of each shard, and the whole configuration."""
    root = ElementTree.fromstring(text)
    shards = root.findall("remote_servers/vedette/shard")
    return [[host.text or "" for host in one.findall("replica/host")] for one in shards], root


def variables_in(root: ElementTree.Element) -> Iterator[str]:
    return (one.attrib["from_env"] for one in root.iter() if "from_env" in one.attrib)


def test_clickhouse_and_its_keepers_know_each_other(made: Path) -> None:
    folder = made / "clickhouse"
    shards, cluster = cluster_of((folder / "cluster.xml").read_text())
    assert shards == [["clickhouse-1-1", "clickhouse-1-2"], ["clickhouse-2-1", "clickhouse-2-2"]]
    assert settings_of(made / "secrets" / "vedette.toml").clickhouse_quorum <= len(shards[0])
    keeper, users = (
        ElementTree.fromstring((folder / name).read_text()) for name in ("keeper.xml", "users.xml")
    )
    hosts = [one.text for one in keeper.findall("keeper_server/raft_configuration/server/hostname")]
    assert hosts == [one.text for one in cluster.findall("zookeeper/node/host")]
    assert set(hosts) <= set(SERVICES)
    [port] = {one.text for one in cluster.findall("zookeeper/node/port")}
    assert port == keeper.findtext("keeper_server/tcp_port")
    for number, name in enumerate(hosts, 1):
        assert environment(made, SERVICES[str(name)])["KEEPER_ID"] == str(number)
    assert set(variables_in(keeper)) == {"KEEPER_ID"}
    for number, members in enumerate(shards, 1):
        for place, name in enumerate(members, 1):
            found = environment(made, SERVICES[name])
            assert (found["SHARD"], found["REPLICA"]) == (str(number), str(place))
            assert {*variables_in(cluster), *variables_in(users)} <= set(found)
    default = users.find("users/default")
    assert default is not None
    assert default.attrib == {"remove": "remove"}


def test_the_balancer_stands_before_all_servers() -> None:
    text = (CLUSTER / "haproxy" / "haproxy.cfg").read_text()
    servers = re.findall(r"^    server (\S+) ([\w-]+):(\d+) check", text, re.MULTILINE)
    assert {host for _, host, _ in servers} == {
        name for name in SERVICES if re.fullmatch(r"(clickhouse|vedette)-[\d-]+", name)
    }
    assert all(name == host for name, host, _ in servers)
    backends = set(re.findall(r"^backend (\w+)", text, re.MULTILINE))
    assert set(re.findall(r"default_backend (\w+)", text)) == backends
    published = [one.split(":")[-1] for one in SERVICES["balancer"]["ports"]]
    assert published == ["8443"]  # ClickHouse is for the servers alone
    assert {f"bind :{port}" for port in (8443, 8123)} <= {one.strip() for one in text.splitlines()}


def test_servers_learn_from_the_balancer_where_connections_come_from(made: Path) -> None:
    text = (CLUSTER / "haproxy" / "haproxy.cfg").read_text()
    lines = [one for one in text.splitlines() if one.startswith("    server vedette-")]
    assert all({"send-proxy-v2", "check-send-proxy"} <= set(one.split()) for one in lines)
    settings = settings_of(made / "secrets" / "vedette.toml")
    address = SERVICES["balancer"]["networks"]["default"]["ipv4_address"]
    assert (settings.proxy_protocol, settings.trusted_proxies) == (True, (address,))
    subnet = COMPOSE["networks"]["default"]["ipam"]["config"][0]["subnet"]
    assert ip_address(address) in ip_network(subnet)


def test_a_connection_that_is_refused_goes_to_another_server() -> None:
    text = (CLUSTER / "haproxy" / "haproxy.cfg").read_text()
    assert "\n    option redispatch 1\n" in text
    found = re.search(r"^    timeout check (\d+)s$", text, re.MULTILINE)
    assert found
    assert int(found[1]) > READINESS_S + 2
    maxconn = re.search(r"^    maxconn (\d+)$", text, re.MULTILINE)
    assert maxconn
    assert SERVICES["balancer"]["ulimits"]["nofile"] > 2 * int(maxconn[1]) + 100


def test_a_server_asks_one_clickhouse_server_as_long_as_that_is_there() -> None:
    """`KILL QUERY` ends what runs on the server that it is sent to."""
    text = (CLUSTER / "haproxy" / "haproxy.cfg").read_text()
    assert "balance source" in text[text.index("backend clickhouse") :]
    (service,) = (one for one in OBJECTS if one["metadata"]["name"] == "clickhouse-http")
    assert service["spec"]["sessionAffinity"] == "ClientIP"


@pytest.mark.parametrize("path", [*sorted(CLUSTER.rglob("*.sh")), CLUSTER / "make-secrets"])
def test_scripts_can_be_parsed(path: Path) -> None:
    subprocess.run(["sh", "-n", str(path)], check=True)


def named(kind: str) -> set[str]:
    return {one["metadata"]["name"] for one in OBJECTS if one["kind"] == kind}


def pods() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    for one in OBJECTS:
        if one["kind"] in ("StatefulSet", "Job"):
            yield one["metadata"]["name"], one["spec"], one["spec"]["template"]["spec"]


def values(found: Any, name: str) -> Iterator[Any]:
    """All values of a name, however deep."""
    if isinstance(found, dict):
        for key, value in found.items():
            if key == name:
                yield value
            yield from values(value, name)
    elif isinstance(found, list):
        for one in found:
            yield from values(one, name)


def test_kubernetes_objects_name_what_there_is() -> None:
    names = [(one["kind"], one["metadata"]["name"]) for one in OBJECTS]
    assert len(names) == len(set(names))
    for name, spec, pod in pods():
        assert {one["name"] for one in values(pod, "configMap")} <= named("ConfigMap"), name
        secrets = {one["secretName"] for one in values(pod, "secret")}
        secrets |= {
            one["name"] for kind in ("secretRef", "secretKeyRef") for one in values(pod, kind)
        }
        assert secrets <= named("Secret"), name
        claims = {one["metadata"]["name"] for one in spec.get("volumeClaimTemplates", [])}
        volumes = {one["name"] for one in pod.get("volumes", [])} | claims
        for container in (*pod["containers"], *pod.get("initContainers", [])):
            assert {one["name"] for one in container["volumeMounts"]} <= volumes, name
            ports = {one["name"] for one in container.get("ports", [])}
            probes = [
                one["port"] for kind in ("httpGet", "tcpSocket") for one in values(container, kind)
            ]
            assert set(probes) <= ports
            assert container["image"] == "vedette" or ":" in container["image"]
            for variable in container.get("env", []):
                if variable["name"].startswith("VEDETTE_"):
                    known = {one.variable for one in catalogue().values()}
                    assert variable["name"] in known | {"VEDETTE_CLUSTER_ADMIN_DSN"}


def server_pod() -> dict[str, Any]:
    return next(pod for name, _, pod in pods() if name == "vedette")


def test_probes_wait_as_long_as_answers_take() -> None:
    (server,) = server_pod()["containers"]
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert server[name]["timeoutSeconds"] > READINESS_S, name
    assert server_pod()["terminationGracePeriodSeconds"] > SHUTDOWN_S + 30
    assert server["lifecycle"]["preStop"]["exec"]["command"] == ["sleep", "5"]


def test_the_root_of_a_volume_is_no_data_directory() -> None:
    """It belongs to root and is open to a group: a server refuses it."""
    pod = server_pod()
    (server,), (maker,) = pod["containers"], pod["initContainers"]
    (mount,) = (one for one in server["volumeMounts"] if one["name"] == "data")
    assert mount == {"name": "data", "mountPath": "/var/lib/vedette", "subPath": "data"}
    volume = {one["name"]: one["mountPath"] for one in maker["volumeMounts"]}
    (command,) = maker["args"]
    assert f"mkdir -p -m 0700 {volume['data']}/data " in command
    assert f"install -m 0600 {volume['key']}/{KEY_FILE} {volume['data']}/data/{KEY_FILE}" in command


def test_kubernetes_selectors_find_their_pods() -> None:
    labels = [
        one["spec"]["template"]["metadata"].get("labels", {})
        for one in OBJECTS
        if one["kind"] == "StatefulSet"
    ]
    for one in OBJECTS:
        selector = one["spec"].get("selector") if "spec" in one else None
        if selector:
            wanted = selector.get("matchLabels", selector).items()
            assert any(wanted <= found.items() for found in labels), one["metadata"]["name"]
    for name, spec, _ in pods():
        assert "serviceName" not in spec or spec["serviceName"] in named("Service"), name


def test_kubernetes_configurations_name_its_pods(tmp_path: Path) -> None:
    sets = {name: spec for name, spec, _ in pods() if "serviceName" in spec}
    hosts = {
        f"{name}-{number}.{spec['serviceName']}"
        for name, spec in sets.items()
        for number in range(spec["replicas"])
    }
    texts = {
        key: text
        for one in OBJECTS
        if one["kind"] == "ConfigMap"
        for key, text in one["data"].items()
    }
    shards, cluster = cluster_of(texts["cluster.xml"])
    keeper = ElementTree.fromstring(texts["keeper_config.xml"])
    keepers = {one.text for one in keeper.iter("hostname")}
    assert {host for shard in shards for host in shard} | keepers <= hosts
    assert keepers == {one.text for one in cluster.findall("zookeeper/node/host")}
    compose = ElementTree.parse(CLUSTER / "clickhouse" / "users.xml").getroot()
    users = ElementTree.fromstring(texts["users.xml"])
    assert ElementTree.tostring(users).split() == ElementTree.tostring(compose).split()
    secret = next(
        one for one in OBJECTS if one["metadata"]["name"] == "vedette" and one["kind"] == "Secret"
    )
    (tmp_path / "vedette.toml").write_text(secret["stringData"]["vedette.toml"])
    settings = settings_of(tmp_path / "vedette.toml")
    assert urlsplit(settings.clickhouse_dsn).hostname in named("Service")
    assert settings.clickhouse_quorum <= min(map(len, shards))
