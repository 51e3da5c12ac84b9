#!/usr/bin/env python3
"""What `quasar launch kubernetes` prints, against Kubernetes' own schemas (PyPI's kubernetes-validate), and what the parts say to each other.

usage: kubernetes.py QUASAR FOLDER_OF_THE_SOURCES
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import kubernetes_validate
import yaml


def objects(quasar, config, *options):
    printed = subprocess.run([quasar, "launch", "kubernetes", config, *options], check=True, capture_output=True, text=True).stdout
    found = list(yaml.safe_load_all(printed))
    for one in found:
        kubernetes_validate.validate(one, "1.30", strict=True)
    return found


def find(found, kind, name):
    return next((one for one in found if one["kind"] == kind and one["metadata"]["name"] == name), None)


def expect(condition, what):
    if not condition:
        raise SystemExit(f"kubernetes.py: {what}")


def scripts_of(found):
    for name in ("quasar-leader", "quasar-workers"):
        pod = find(found, "Job", name)["spec"]["template"]["spec"]
        for container in pod["containers"]:
            yield container["args"][0]


def check_words(quasar, config):
    found = objects(quasar, config, "--workers", "7", "--cpus", "3", "--memory", "5", "--image", "mine:1", "--spot", "pool/kind=spot")
    text = pathlib.Path(config).read_text()
    expect(find(found, "ConfigMap", "quasar-search")["data"] == {pathlib.Path(config).name: text}, "the configuration is another one")
    leader, workers = (find(found, "Job", name)["spec"] for name in ("quasar-leader", "quasar-workers"))
    expect(workers["parallelism"] == 7, "--workers")
    for job in (leader, workers):
        container = job["template"]["spec"]["containers"][0]
        expect(container["image"] == "mine:1", "--image")
        expect(container["resources"]["requests"] == {"cpu": "3", "memory": "5Gi"}, "--cpus, --memory")
        names = {one["name"] for one in container["env"]}
        expect(names == {"STORAGE", "PGPASSWORD"}, f"environment {names}")
        expect(any(rule["action"] == "Ignore" for rule in job["podFailurePolicy"]["rules"]), "a lost node counts as a failure")
    # 75, a machine that failed, is tried again; a leader that was interrupted, for which its workers end with 130, comes back.
    given_up = [code for rule in leader["podFailurePolicy"]["rules"] if rule["action"] == "FailJob" for code in rule["onExitCodes"]["values"]]
    ignored = [code for rule in workers["podFailurePolicy"]["rules"] if rule["action"] == "Ignore" for code in rule.get("onExitCodes", {"values": []})["values"]]
    expect(given_up == [1, 2] and ignored == [130], f"codes {given_up}, {ignored}")
    expect(workers["template"]["spec"]["nodeSelector"] == {"pool/kind": "spot"}, "--spot")
    expect("nodeSelector" not in leader["template"]["spec"], "the leader may be taken back")
    secret = find(found, "Secret", "quasar-database")["stringData"]
    host = re.fullmatch(r"postgresql://quasar@([a-z-]+)/quasar", secret["address"])
    expect(host and find(found, "Service", host[1]), f"no service for {secret['address']}")
    expect(len(secret["password"]) == 24 and secret["password"] != find(objects(quasar, config), "Secret", "quasar-database")["stringData"]["password"], "the password")
    database = find(found, "StatefulSet", "quasar-database")["spec"]["template"]
    service = find(found, "Service", host[1])["spec"]["selector"]
    expect(service.items() <= database["metadata"]["labels"].items(), "the service finds no database")
    connections = int(re.search(r"max_connections=(\d+)", str(database))[1])
    expect(connections >= 2 * 7 + 20 and connections >= 100, f"{connections} connections leave no room for more workers")
    claims = {one["metadata"]["name"] for one in found if one["kind"] == "PersistentVolumeClaim"}
    used = {volume["persistentVolumeClaim"]["claimName"] for volume in leader["template"]["spec"]["volumes"] if "persistentVolumeClaim" in volume}
    expect(claims == used, f"claims {claims}, used {used}")
    for script in scripts_of(found):
        subprocess.run(["sh", "-n", "-c", script], check=True)


def check_gpus(quasar, config):
    for name in ("quasar-leader", "quasar-workers"):
        for options, gpus, words in (((), None, ""), (("--gpus", "2"), 2, "--set search_devices=cuda:0,1")):
            container = find(objects(quasar, config, *options), "Job", name)["spec"]["template"]["spec"]["containers"][0]
            expect(container["resources"]["limits"].get("nvidia.com/gpu") == gpus, f"{name}: {container['resources']}")
            expect(("search_devices" in container["args"][0]) == (gpus is not None) and words in container["args"][0], container["args"][0])


def check_own_database(quasar, config):
    found = objects(quasar, config, "--storage", "postgresql://me:secret@server/studies", "--claim", "data")
    expect({one["kind"] for one in found} == {"Secret", "ConfigMap", "Job"}, "more than asked for")
    expect(find(found, "Secret", "quasar-database")["stringData"] == {"address": "postgresql://me:secret@server/studies"}, "the address")
    leader = find(found, "Job", "quasar-leader")["spec"]["template"]["spec"]
    expect("initContainers" not in leader, "it waits for files that are there")
    expect(leader["volumes"][0]["persistentVolumeClaim"] == {"claimName": "data"}, "--claim")


def check_scripts(quasar, config):
    """The lines of the pods, run here with a program that says how it was called."""
    found = objects(quasar, config)
    with tempfile.TemporaryDirectory() as folder:
        bin = pathlib.Path(folder)
        (bin / "quasar").write_text("#!/bin/sh\necho \"$@\" >> called\n[ \"$1\" = search ] || exec sleep 60\n")
        (bin / "quasar").chmod(0o755)
        (bin / "cp").write_text("#!/bin/sh\necho cp \"$@\" >> called\n")
        (bin / "cp").chmod(0o755)
        environment = {"PATH": f"{folder}:/usr/bin:/bin", "STORAGE": "postgresql://a/b"}
        leader, worker = scripts_of(found)
        subprocess.run(["sh", "-ec", leader], check=True, env=environment, cwd=folder)
        name = pathlib.Path(config).name
        called = (bin / "called").read_text()
        expect(f"cp /search/{name} /data/{name}\n" in called, called)
        expect(f"search /data/{name} --output-dir /data/quasar_out --set study_storage_db=postgresql://a/b --set load_study_if_exists=true\n" in called, called)
        running = subprocess.Popen(["sh", "-c", worker], env=environment, cwd=folder)
        while "worker" not in (bin / "called").read_text():
            pass
        running.terminate()
        expect("worker postgresql://a/b --study AutoSearch --wait 3600" in (bin / "called").read_text(), "for which study workers work")
        expect("--allow-code" not in (bin / "called").read_text(), "code is allowed that nobody names")
        expect(running.wait() == 143, f"a worker that is asked to end says {running.returncode}, and would not be replaced")


def check_files(quasar, config):
    """What pods of workers would not have is told before they begin."""
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        for file in pathlib.Path(config).parent.iterdir():
            (here / file.name).symlink_to(file)
        own = here / "own.yaml"
        text = "".join(line for line in pathlib.Path(config).read_text().splitlines(keepends=True) if not line.startswith("search_metric"))

        def refused(more, why):
            own.write_text(text + more)
            done = subprocess.run([quasar, "launch", "kubernetes", own], capture_output=True, text=True)
            expect(done.returncode == 1 and done.stdout == "" and all(word in done.stderr for word in why), f"{more}: {done.returncode} {done.stderr}")

        refused("study_files_limit: 1000\n", ("would not have model_input (", "study_files_limit is 1000 bytes"))
        (here / "score.py").write_text("")
        refused("search_evaluator: {python: 'score.py:score'}\n", ("names the file 'score.py'", "put it into the image"))
        refused("search_evaluator: {command: [python3, score.py, '{model}']}\n", ("names the file 'score.py'",))
        own.write_text(text + "search_evaluator: {command: [/opt/score, '{model}']}\n")
        worker = list(scripts_of(objects(quasar, own)))[1]
        expect("--drain 50 --allow-code &" in worker, worker)


def main():
    quasar, sources = sys.argv[1:]
    config = f"{sources}/examples/digits/search.yaml"
    check_words(quasar, config)
    check_gpus(quasar, config)
    check_own_database(quasar, config)
    check_scripts(quasar, config)
    check_files(quasar, config)


main()
