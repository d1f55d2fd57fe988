#!/usr/bin/env python3
"""test_live_jobs.py BUILD - jobs by name: a scheduler's file says what runs where, and the incident of a faulty link names that job; another file, another job; a
broken file changes nothing; a file that is no longer written names nobody, and the doctor says so; the past keeps the names it had."""
import json, os, re, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from live_lab import Live, check, main, wait_for
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402


def squeue(name, number, hosts):
    return json.dumps({"jobs": [{"job_id": number, "name": name, "user_name": "ada", "job_state": ["RUNNING"], "nodes": ",".join(hosts),
                                 "tres_alloc_str": "cpu=8,gres/gpu=%d" % (8 * len(hosts))}]})


class Scheduled(Live):
    def configure(self):
        with open(self.config) as f:
            text = f.read()
        self.file = os.path.join(self.dir, "squeue.json")
        text = re.sub(r"(?m)^jobs:.*\n(?:[ -].*\n)*", "", text)
        with open(self.config, "w") as f:
            f.write("%s\njob_files:\n  - { path: %s, max_age: 1h }\n" % (text, self.file))

    def write(self, text):
        """As cron does it."""
        with open(self.file + ".new", "w") as f:
            f.write(text)
        os.rename(self.file + ".new", self.file)

    def hosts(self):
        links = json.loads(self.rocewatch("topology", "show", "--format", "json"))["links"]
        found = {end.split(":")[1] for link in links for end in map(str, link.values()) if end.startswith("host:")}
        check(found, "no hosts in %s" % links[:1])
        return sorted(found)

    def jobs_of(self, host, *when):
        return json.loads(self.rocewatch("blame", host, "--format", "json", *when))["jobs"]

    def doctor(self):
        p = self.run_any([self.shipped, "-c", self.config, "doctor", "--format", "json"])
        return json.loads(p.stdout)

    @staticmethod
    def run_any(argv):
        import subprocess
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S)


def named(lab, name):
    told = [i for i in lab.incidents() if i["cause"] in lab.truth()["accept"] and i["jobs"]]
    check(all(i["jobs"] == [name] for i in told), "jobs of incidents: %s, expected %s" % ([i["jobs"] for i in told], name))
    return told


def test(build, work):
    lab = Scheduled(build, os.path.join(work, "jobs"), "pfc-storm", at="5s", seed=10)
    try:
        lab.start()
        lab.served()
        lab.configure()
        hosts = lab.hosts()
        lab.write(squeue("llama", 4711, hosts))
        lab.agent()
        told = wait_for("an incident that names the job", lambda: named(lab, "llama/4711"), 120, every_s=1)
        check(told[0]["gpus_affected"] == 8 * len(hosts), "GPUs: %s of %d hosts" % (told[0]["gpus_affected"], len(hosts)))
        check(lab.jobs_of(hosts[0]) == ["llama/4711"], "blame: %s" % lab.jobs_of(hosts[0]))
        while_llama = lab.sql("SELECT max(time) t FROM samples")[0]["t"]

        lab.write("{\"jobs\": [")  # half a file
        wait_for("the half file is told", lambda: "cannot be used" in open(lab.dir + ".agent.log").read(), 60)
        check(lab.jobs_of(hosts[0]) == ["llama/4711"], "after half a file: %s" % lab.jobs_of(hosts[0]))

        lab.write(squeue("moe", 4712, hosts[:2]))
        wait_for("the next job", lambda: lab.jobs_of(hosts[0]) == ["moe/4712"], 90, every_s=1)
        check(lab.jobs_of(hosts[2]) == [], "a host without a job has %s" % lab.jobs_of(hosts[2]))
        check(lab.jobs_of(hosts[2], "--until", while_llama) == ["llama/4711"], "the past lost its job")

        old = time.time() - 7200
        os.utime(lab.file, (old, old))
        wait_for("no job is named any more", lambda: lab.jobs_of(hosts[0]) == [], 90, every_s=1)
        row = wait_for("the doctor's row", lambda: [r for r in lab.doctor()["job_files"] if r["age_s"] and r["age_s"] > 7000 and r["jobs"] == 0], 60, every_s=1)
        text = lab.run_any([lab.shipped, "-c", lab.config, "doctor"]).stdout
        check("its jobs are no longer named" in text, "doctor: %s" % text)
        return "%d hosts, %s" % (len(hosts), row[0]["file"].rsplit("/", 1)[1])
    finally:
        Live.stop([lab])


main(test)
