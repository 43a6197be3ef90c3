# SPDX-License-Identifier: GPL-2.0-only
"""A volume group on two loop devices with cached volumes, written as metadata.

The machine needs no device mapper, because lvm2 runs with activation=0 and vgcfgrestore writes
the cached volumes. "disk" holds the origins, "ssd" holds the caches, and a test can remove
either.
"""

import os
import re
import subprocess

ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C", "LVM_SUPPRESS_FD_WARNINGS": "1"}
EXTENTS = 4
# LVM's defaults, in bytes.
PE_START, EXTENT = 1 << 20, 4 << 20


def segment(kind, **words):
    body = "\n".join(f"{key} = {value}" for key, value in words.items())
    return f'segment1 {{\nstart_extent = 0\ntype = "{kind}"\n{body}\n}}'


def linear(pv, start, extents):
    return segment("striped", extent_count=extents, stripe_count=1, stripes=f'["{pv}", {start}]')


class VolumeGroup:
    """Call cached() for each volume, then write()."""

    def __init__(self, tmp, name="vg"):
        self.tmp, self.name = tmp, name
        self.volumes, self.loops, self.used = [], {}, {"pv0": 0, "pv1": 0}
        self.env = {**ENV, "LVM_SYSTEM_DIR": str(tmp / "lvm")}
        (tmp / "lvm").mkdir()

    def create(self, disk=256, ssd=256):
        """disk and ssd are sizes in MiB."""
        for name, mib in (("disk", disk), ("ssd", ssd)):
            with open(self.tmp / name, "wb") as f:
                f.truncate(mib << 20)
            self.plug(name)
        self.configure()
        self.lvm("pvcreate", *self.loops.values())
        self.lvm("vgcreate", self.name, self.loops["disk"], self.loops["ssd"])
        return self

    def plug(self, disk):
        out = subprocess.run(["losetup", "--show", "-f", self.tmp / disk], check=True, capture_output=True)
        self.loops[disk] = out.stdout.decode().strip()

    def unplug(self, disk):
        subprocess.run(["losetup", "-d", self.loops.pop(disk)], check=True)

    def configure(self):
        """LVM looks only at these loop devices, whatever else the machine has."""
        seen = ", ".join(f'"a|^{loop}$|"' for loop in self.loops.values())
        (self.tmp / "lvm/lvm.conf").write_text(
            f'devices {{ filter=[{seen}, "r|.*|"] use_devicesfile=0 }}\n'
            f'global {{ activation=0 event_activation=0 locking_dir="{self.tmp}/lock" }}\n'
            "activation { udev_sync=0 udev_rules=0 }\n"
            "backup { backup=0 archive=0 }\n"
        )

    def lvm(self, *args, check=True):
        return subprocess.run(
            ["lvm", *args], env=self.env, check=check, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ).stdout

    def space(self, pv, extents):
        start = self.used[pv]
        self.used[pv] += extents
        return linear(pv, start, extents)

    def volume(self, name, body, visible=False):
        words = '"READ", "WRITE"' + (', "VISIBLE"' if visible else "")
        uuid = f"hearth-test-0000-0000-0000-0000-0000{len(self.volumes):02d}"
        self.volumes.append(
            f'{name} {{\nid = "{uuid}"\nstatus = [{words}]\nflags = []\nsegment_count = 1\n{body}\n}}'
        )

    def cached(self, name, mode, origin="pv0", cache="pv1"):
        pool = f"{name}pool_cpool"
        self.volume(
            name,
            segment("cache", extent_count=EXTENTS, cache_pool=f'"{pool}"', origin=f'"{name}_corig"'),
            visible=True,
        )
        self.volume(
            pool,
            segment(
                "cache-pool", extent_count=2, data=f'"{pool}_cdata"', metadata=f'"{pool}_cmeta"',
                metadata_format=2, chunk_size=128, cache_mode=f'"{mode}"', policy='"smq"',
            ),
        )
        self.volume(f"{pool}_cdata", self.space(cache, 2))
        self.volume(f"{pool}_cmeta", self.space(cache, 1))
        self.volume(f"{name}_corig", self.space(origin, EXTENTS))

    def plain(self, name, pv="pv0"):
        self.volume(name, self.space(pv, EXTENTS), visible=True)

    def write(self):
        backup = self.tmp / "vg.txt"
        self.lvm("vgcfgbackup", "-f", str(backup), self.name)
        text = backup.read_text()
        volumes = "logical_volumes {\n" + "\n".join(self.volumes) + "\n}\n"
        at = text.rindex("}")
        backup.write_text(text[:at] + volumes + text[at:])
        self.lvm("vgcfgrestore", "-f", str(backup), self.name)
        return self

    def place(self, volume):
        """The volume's place, which must be in one piece: (device, first byte, bytes)."""
        out = self.lvm("lvs", "-a", "--noheadings", "-o", "seg_pe_ranges", "-S", f"lv_name={volume}", self.name)
        device, first, last = re.search(r"^ *(/\S+):(\d+)-(\d+) *$", out, re.M).groups()
        return device, PE_START + int(first) * EXTENT, (int(last) + 1 - int(first)) * EXTENT

    def types(self):
        """The present volumes: {name: segment type}."""
        out = self.lvm("lvs", "--noheadings", "-o", "lv_name,segtype", self.name)
        return dict(re.findall(r"^ *(\w+) +(\S+) *$", out, re.M))

    def close(self):
        for disk in list(self.loops):
            self.unplug(disk)
