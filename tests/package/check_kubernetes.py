#!/usr/bin/env python3
"""check_kubernetes.py SOURCE PROGRAM VERSION - config/kubernetes/rocewatch.yaml: its configuration is one that the program takes once its secrets lie where
the pod has them; every volume that is mounted exists and every other is mounted; user, port and version are those of the Containerfile and the project.
No cluster is asked: whether Kubernetes takes the file was not seen."""
import os, re, subprocess, sys, tempfile
import yaml

SECRETS = "/etc/rocewatch/secrets"


def check(condition, message):
    if not condition:
        sys.exit("kubernetes: " + message)


def main():
    source, program, version = sys.argv[1:]
    with open(os.path.join(source, "config/kubernetes/rocewatch.yaml")) as f:
        parts = {part["kind"]: part for part in yaml.safe_load_all(f)}
    with open(os.path.join(source, "Containerfile")) as f:
        containerfile = f.read()
    check(set(parts) == {"Namespace", "ConfigMap", "Secret", "Service", "StatefulSet"}, "its parts are %s" % sorted(parts))
    for kind, part in parts.items():
        check(kind == "Namespace" or part["metadata"]["namespace"] == parts["Namespace"]["metadata"]["name"], "%s is in another namespace" % kind)
    pod = parts["StatefulSet"]["spec"]["template"]
    containers = pod["spec"]["initContainers"] + pod["spec"]["containers"]
    check(parts["Service"]["spec"]["selector"] == pod["metadata"]["labels"] == parts["StatefulSet"]["spec"]["selector"]["matchLabels"], "the labels differ")
    uid = int(re.search(r"ARG UID=(\d+)", containerfile)[1])
    check(pod["spec"]["securityContext"]["runAsUser"] == pod["spec"]["securityContext"]["fsGroup"] == uid, "the user is not that of the Containerfile")
    check({c["image"] for c in containers} == {"rocewatch:" + version}, "the images are %s" % [c["image"] for c in containers])
    port = int(re.search(r"EXPOSE (\d+)", containerfile)[1])
    check(port == containers[-1]["ports"][0]["containerPort"] == parts["Service"]["spec"]["ports"][0]["targetPort"], "the port is not that of the Containerfile")
    there = [v["name"] for v in pod["spec"]["volumes"]] + [v["metadata"]["name"] for v in parts["StatefulSet"]["spec"]["volumeClaimTemplates"]]
    mounted = [m["name"] for c in containers for m in c["volumeMounts"]]
    check(set(there) == set(mounted) and len(there) == len(set(there)), "volumes %s, mounted %s" % (sorted(there), sorted(set(mounted))))
    check(any(m["mountPath"] == SECRETS for m in containers[-1]["volumeMounts"]), "the agent does not see its secrets")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**parts["Secret"]["stringData"], "tls.crt": "x\n", "tls.key": "x\n"}.items():
            with open(os.path.join(folder, name), "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
                f.write(text)
        text = parts["ConfigMap"]["data"]["rocewatch.yaml"]
        check(SECRETS in text, "its secrets lie elsewhere")
        path = os.path.join(folder, "rocewatch.yaml")
        with open(path, "w") as f:
            f.write(text.replace(SECRETS, folder))
        done = subprocess.run([program, "config", "check", path], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        check(done.returncode == 0, "config check: %s%s" % (done.stdout, done.stderr))
        os.unlink(os.path.join(folder, "community"))
        done = subprocess.run([program, "config", "check", path], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        check(done.returncode != 0, "a configuration without its secret is taken: this test sees nothing")
    print("5 parts, %d volumes" % len(there))


main()
