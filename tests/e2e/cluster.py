"""What contrib/cluster says, and what becomes of it: see cluster_test.sh.

    cluster.py check
        whether the manifests agree with each other and with what they name
    cluster.py probes PORT
        the status that each probe of kubernetes.yaml gets from this port
    cluster.py prometheus SECONDS TARGET...
        prometheus.yml, which looks at these every so many seconds
    cluster.py load SECONDS SESSION [RATE SOCKET]...
        sessions of so many milliseconds begin so often in a second, at random
    cluster.py scale URL APP
        the need by Prometheus there and the hosts that KEDA, Kubernetes and Nomad
        would have, of two
    cluster.py alerts URL
        each alert that is pending or fires, with its app and instance
"""

import asyncio
import http.client
import json
import math
import random
import re
import sys
import urllib.parse
import urllib.request

import yaml

FOLDER = "contrib/cluster/"
HOSTS = 2  # of each app


def manifests(name):
    with open(FOLDER + name) as file:
        return {part["kind"]: part for part in yaml.safe_load_all(file)}


def one(name):
    with open(FOLDER + name) as file:
        return yaml.safe_load(file)


def keda():
    trigger, = manifests("keda.yaml")["ScaledObject"]["spec"]["triggers"]
    return trigger["metadata"]


def external():
    autoscaler = manifests("kubernetes.yaml")["HorizontalPodAutoscaler"]
    metric, = autoscaler["spec"]["metrics"]
    return metric["external"]


def amount(text):
    """A quantity of Kubernetes."""
    return int(text[:-1]) / 1000 if text.endswith("m") else float(text)


def seconds(text):
    return int(re.fullmatch("([0-9]+)s", text)[1])


def nomad(name):
    """A value of the job."""
    with open(FOLDER + "nomad.hcl") as file:
        text = file.read()
    found = re.search(rf'\b{name} *= *(?:<<-END\n(.*?)\n *END$|"?([^"\n]*))',
                      text, re.DOTALL | re.MULTILINE)
    return found[1] or found[2]


# ---------------------------------------------------------------- check


def check():
    parts = manifests("kubernetes.yaml")
    pod = parts["Deployment"]["spec"]["template"]
    labels = pod["metadata"]["labels"].items()
    container, = pod["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    variables = {each["name"]: each["value"] for each in container["env"]}

    for selector in (parts["Deployment"]["spec"]["selector"]["matchLabels"],
                     parts["Service"]["spec"]["selector"],
                     parts["PodMonitor"]["spec"]["selector"]["matchLabels"]):
        assert selector.items() <= labels, selector
    for probe in "readinessProbe", "livenessProbe":
        assert container[probe]["httpGet"]["port"] in ports, probe
    for port in parts["Service"]["spec"]["ports"]:
        assert port["targetPort"] in ports
    for port in parts["PodMonitor"]["spec"]["podMetricsEndpoints"]:
        assert port["port"] in ports
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["spec"]["volumes"]}
    assert pod["spec"]["terminationGracePeriodSeconds"] > \
        seconds(variables["STOP_TIMEOUT"]) > seconds(variables["CLOSE_DELAY"])
    assert seconds(nomad("kill_timeout")) > seconds(nomad("STOP_TIMEOUT"))

    # Who is scaled, and by what.
    name = parts["Deployment"]["metadata"]["name"]
    scaled = manifests("keda.yaml")["ScaledObject"]
    for part in parts["HorizontalPodAutoscaler"], scaled:
        assert part["spec"]["scaleTargetRef"]["name"] == name
    rule, = one("adapter.yaml")["rules"]["external"]
    assert rule["name"]["as"] == external()["metric"]["name"]

    # The same image and the same sizes everywhere.
    most = 0.8 * int(variables["PHP_MAX"])
    assert nomad("PHP_MAX") == variables["PHP_MAX"]
    assert amount(external()["target"]["averageValue"]) == most
    assert float(keda()["threshold"]) == most
    assert float(nomad("target")) == most
    assert nomad("image") == container["image"]
    for port in ports:
        assert re.search(rf'port "{port}" {{ to = {ports[port]} }}',
                         open(FOLDER + "nomad.hcl").read())

    # The image takes the variables, and has the ports.
    with open("contrib/container/pool.conf") as file:
        image = file.read()
    for variable in variables:
        assert "${" + variable in image, variable
    for port in ports.values():
        assert f"0.0.0.0:{port}" in image, port


# ---------------------------------------------------------------- hosts


def probes(port):
    pod = manifests("kubernetes.yaml")["Deployment"]["spec"]["template"]
    container, = pod["spec"]["containers"]
    for probe in "readinessProbe", "livenessProbe":
        path = container[probe]["httpGet"]["path"]
        connection = http.client.HTTPConnection("127.0.0.1", int(port))
        connection.request("GET", path)
        print(connection.getresponse().status)


def prometheus(pause, *targets):
    config = one("prometheus.yml")
    config["global"] = {"scrape_interval": pause, "evaluation_interval": pause}
    job = config["scrape_configs"][0]
    # As the operator for Prometheus does in a namespace of Kubernetes.
    job["static_configs"] = [
        {"targets": list(targets), "labels": {"namespace": "default"}}]
    config["scrape_configs"] = [job]
    print(yaml.safe_dump(config))


async def session(path, text):
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        writer.write(text)
        await reader.read()
    except ConnectionError:
        # The process was killed.
        pass
    finally:
        writer.close()


async def begin_sessions(path, rate, text, end):
    loop = asyncio.get_running_loop()
    chance = random.Random(path)
    at = loop.time()
    running = set()
    while (at := at + chance.expovariate(rate)) < end:
        await asyncio.sleep(at - loop.time())
        task = asyncio.create_task(session(path, text))
        running.add(task)
        task.add_done_callback(running.discard)
    for task in running:
        task.cancel()


async def load(length, milliseconds, *loads):
    end = asyncio.get_running_loop().time() + float(length)
    text = f"sleep {milliseconds}ms\n".encode()
    await asyncio.gather(*(
        begin_sessions(path, float(rate), text, end)
        for rate, path in zip(loads[::2], loads[1::2])))


# ---------------------------------------------------------------- answers


def ask(url, what, **words):
    words = urllib.parse.urlencode(words)
    with urllib.request.urlopen(f"{url}/api/v1/{what}?{words}") as answer:
        return json.load(answer)["data"]


def value(url, query):
    found, = ask(url, "query", query=query)["result"]
    assert found["metric"] == {}, found
    return float(found["value"][1])


def scale(url, app):
    def of_app(query):
        assert '"php"' in query
        return query.replace('"php"', f'"{app}"')

    metric = external()["metric"]
    rule, = one("adapter.yaml")["rules"]["external"]
    matchers = {**metric["selector"]["matchLabels"], "namespace": "default"}
    matchers = ",".join(f'{name}="{text}"' for name, text in matchers.items())
    query = rule["metricsQuery"].replace("<<.Series>>", rule["seriesQuery"])
    query = query.replace("<<.LabelMatchers>>", matchers)

    need = value(url, of_app(keda()["query"]))
    assert value(url, of_app(query)) == need
    kubernetes = math.ceil(need / float(keda()["threshold"]))
    each = value(url, of_app(nomad("query")))
    jobs = math.ceil(HOSTS * each / float(nomad("target")))
    least = manifests("keda.yaml")["ScaledObject"]["spec"]["minReplicaCount"]
    print(f"{need:.1f} {max(kubernetes, least)} {max(jobs, int(nomad('min')))}")


def alerts(url):
    for alert in ask(url, "alerts")["alerts"]:
        labels = alert["labels"]
        print(labels["alertname"], labels.get("app"), labels["instance"])


if sys.argv[1] == "load":
    asyncio.run(load(*sys.argv[2:]))
else:
    globals()[sys.argv[1]](*sys.argv[2:])
