# SPDX-License-Identifier: GPL-2.0-only
"""contrib/: the playbook for Ansible and the classes for TopoLVM.

scripts/setup installs yamllint. ansible-lint is run where it is installed, because it brings half of Ansible along.
Neither Ansible nor TopoLVM is run.
"""

import re
import shutil
import subprocess

import pytest
import yaml

from fake import HERE
from programs import find

TOP = HERE.parents[1]
CONTRIB = TOP / "contrib"
RULES = "{extends: default, rules: {line-length: {max: 140}, document-start: disable}}"
KUBERNETES = [CONTRIB / f"kubernetes/topolvm-{name}.yml" for name in ("lvmd", "storageclass")]


@pytest.mark.needs("yamllint")
def test_yaml():
    r = subprocess.run([find("yamllint"), "-s", "-d", RULES, CONTRIB], text=True,
                       capture_output=True, check=False)
    assert r.returncode == 0, r.stdout


@pytest.mark.skipif(not shutil.which("ansible-lint"), reason="no ansible-lint")
def test_playbook(tmp_path):
    r = subprocess.run(["ansible-lint", "--offline", CONTRIB / "ansible/hearth.yml"], text=True, cwd=tmp_path,
                       capture_output=True, check=False)
    assert r.returncode == 0, r.stdout + r.stderr


def test_playbook_names_what_there_is():
    tasks = yaml.safe_load((CONTRIB / "ansible/hearth.yml").read_text())[0]["tasks"]
    timer, = (t["ansible.builtin.systemd"]["name"] for t in tasks if "ansible.builtin.systemd" in t)
    assert (TOP / "lvm-plugin/systemd" / timer).exists()
    commands = [t["ansible.builtin.command"] for t in tasks if "ansible.builtin.command" in t]
    assert commands == ["modinfo -F filename dm-cache", "hearth doctor --nagios"]


def test_classes_are_those_of_the_guest_test():
    """Only the sizes differ from the lines that tests/guest runs."""
    lvmd, storage = (yaml.safe_load(file.read_text()) for file in KUBERNETES)
    classes = {c["name"]: c["options"] for c in lvmd["lvcreate-option-classes"]}
    group, = lvmd["device-classes"]
    assert storage["parameters"]["topolvm.io/device-class"] == group["name"]
    assert storage["parameters"]["topolvm.io/lvcreate-option-class"] in classes
    suite = re.sub(r"\\\n\s*", "", (TOP / "tests/guest/suites/cluster.sh").read_text())
    tested = [re.sub(r"['\"]", "", line) for line in suite.splitlines() if line.lstrip().startswith("lvcreate -n pvc")]
    assert len(tested) == len(classes) == 2
    for options in classes.values():
        words = [re.sub(r"['\"]|=20g$", "", o.replace("=", " ", 1)) for o in options]
        words = [w.replace(" 20g", "") for w in words]
        assert any(all(w in line for w in words) for line in tested), (words, tested)
