# SPDX-License-Identifier: GPL-2.0-only
"""Packages, DKMS, make install: where they put their files, and that removal leaves none behind."""

import re
import shutil
import sys

import tree as trees

sys.path.insert(0, str(trees.TOP / "tests/lib"))
import links  # noqa: E402

OURS = ["dm-cache", "dm-cache-smq", "dm-cache-lru", "dm-cache-nhit", "dm-cache-cleaner"]


def path_of(tree, module):
    """The file that modprobe would load, without the suffix of a compression."""
    return re.sub(r"\.(xz|zst|gz)$", "", tree.out(f"modinfo -k {tree.kernel()} -F filename {module}"))


def has_built(tree, kernel):
    """DKMS has installed this version for that kernel."""
    return f"hearth/{trees.VERSION}, {kernel}, x86_64: installed\n" in tree.out("dkms status") + "\n"


def test_dkms_builds_every_module():
    kbuild = (trees.TOP / "dm-target/Kbuild").read_text()
    conf = (trees.TOP / "dkms.conf").read_text()
    objects = re.search(r"obj-m \+= ((?:.|\\\n)*?)\n\n", kbuild)[1]
    assert re.findall(r"([\w-]+)\.o", objects) == OURS
    assert re.findall(r'BUILT_MODULE_NAME\[\d+\]="(.*)"', conf) == OURS
    for word in ("BUILT_MODULE_LOCATION", "DEST_MODULE_LOCATION"):
        assert len(re.findall(rf"^{word}\[", conf, re.M)) == len(OURS)


def test_packages_have_no_faults(packages):
    code, out = packages.run("cd /src/build/deb && lintian --fail-on error,warning --allow-root *.changes", check=False)
    print(out)
    assert code == 0, out


def test_what_the_packages_hold(packages):
    files = packages.out("cd /src/build/deb && for d in hearth_*.deb; do dpkg-deb -c $d; done")
    for path in [
        "./usr/sbin/hearth",
        "./usr/sbin/hearth-metadata",
        "./usr/lib/hearth/hearth-on-cache",
        "./usr/lib/hearth/hearth-degraded",
        "./usr/lib/hearth/hearth-leave",
        "./usr/lib/hearth/hearth-origin",
        "./usr/lib/hearth/libdevmapper-event-hearth.so",
        "./usr/lib/udev/rules.d/96-hearth-monitor.rules",
        "./etc/hearth/monitor.conf",
        "./lib/systemd/system/hearth-export.timer",
        "./usr/lib/dracut/modules.d/90hearth/module-setup.sh",
        "./usr/share/initramfs-tools/hooks/hearth",
        "./usr/share/initramfs-tools/scripts/local-block/hearth",
        "./usr/share/initramfs-tools/scripts/panic/hearth",
        "./usr/share/man/man7/hearth-root.7.gz",
        "./usr/share/man/man8/hearth-target.8.gz",
        "./usr/share/doc/hearth/README.md",
        "./usr/share/doc/hearth/docs/architecture.md",
        "./usr/share/doc/hearth/examples/grafana-hearth.json",
        "./usr/share/hearth/schema/status.json",
        "./usr/share/bash-completion/completions/hearth",
        "./usr/share/zsh/vendor-completions/_hearth",
        "./usr/share/fish/vendor_completions.d/hearth.fish",
    ]:
        assert re.search(rf"^-rw.r-[x-]r-[x-] root/root .* {re.escape(path)}$", files, re.M), path


def assert_hardened(tree, root):
    for program in ["sbin/hearth", "sbin/hearth-metadata", "lib/hearth/libdevmapper-event-hearth.so"]:
        dynamic = tree.out(f"readelf -dW {root}/usr/{program}")
        assert re.search(r"\(FLAGS(_1)?\).*\b(BIND_)?NOW\b", dynamic), program
        assert "DYN (" in tree.out(f"readelf -hW {root}/usr/{program}"), program
        assert re.search(r"__\w+_chk@", tree.out(f"readelf -sW {root}/usr/{program}")), program


def assert_links_lead_to_files(documents):
    nr, dead = links.followed(documents)
    assert nr > 100 and not dead


def test_programs_of_the_package_are_hardened(packages):
    """The build uses dpkg's own flags, hardening=+all."""
    tree = packages
    tree.run("rm -rf /unpacked && dpkg-deb -x /src/build/deb/hearth_*.deb /unpacked")
    assert_hardened(tree, "/unpacked")
    tree.run("rm -r /unpacked")


def test_links_of_the_packages_documents(packages):
    packages.run("dpkg-deb -x /src/build/deb/hearth_*.deb /tmp/share/unpacked")
    assert_links_lead_to_files(packages.share / "unpacked/usr/share/doc/hearth")
    shutil.rmtree(packages.share / "unpacked")


def test_rpm_packages(request, packages):
    """The RPMs are built and have the same files; the test installs nothing from them."""
    tree = packages.copy(trees.BUILD / "views" / "rpm")
    request.addfinalizer(tree.remove)
    tree.run("make -C /src rpm RPMFLAGS=--nodeps >/rpm.log 2>&1 || { tail -n 40 /rpm.log; exit 1; }")
    rpms = "/src/build/rpm/RPMS/*/*.rpm"
    files = tree.out(f"rpm -qlp {rpms}").splitlines()
    for path in [
        "/usr/sbin/hearth",
        "/usr/lib/hearth/hearth-degraded",
        "/usr/lib/hearth/hearth-leave",
        "/usr/lib/hearth/hearth-origin",
        "/usr/lib/hearth/libdevmapper-event-hearth.so",
        "/usr/lib/udev/rules.d/96-hearth-monitor.rules",
        "/etc/hearth/monitor.conf",
        "/usr/lib/systemd/system/hearth-export.timer",
        "/usr/lib/dracut/modules.d/90hearth/module-setup.sh",
        "/usr/share/hearth/schema/status.json",
        "/usr/share/bash-completion/completions/hearth",
        "/usr/share/zsh/site-functions/_hearth",
        "/usr/share/fish/vendor_completions.d/hearth.fish",
        f"/usr/src/hearth-{trees.VERSION}/dkms.conf",
        f"/usr/src/hearth-{trees.VERSION}/dm-target/compat/dm-io-ioprio.c",
    ]:
        assert path in files, path
    for part in ("README.md", "docs/architecture.md", "contrib/grafana-hearth.json", "COPYING"):
        assert [f for f in files if f.endswith("/" + part)], part
    # Both packages make the initramfs anew, when they are installed and when they are removed.
    scripts = tree.out(f"for r in {rpms}; do rpm -qp --scripts --triggers $r; done")
    assert scripts.count("dracut --force --regenerate-all") == 4
    # Each waits for the write logs before it is removed, and before an older one comes.
    assert scripts.count("|| /usr/lib/hearth/hearth-leave") == 4
    assert not [f for f in files if "initramfs-tools" in f]
    # Debian's rpmbuild has no flags for the linker, so these are the package's own.
    tree.run(f"mkdir /tmp/share/rpm && cd /tmp/share/rpm && for r in {rpms}; do rpm2cpio $r | cpio -idm; done")
    assert_hardened(tree, "/tmp/share/rpm")
    assert_links_lead_to_files(next(tree.share.glob("rpm/usr/share/doc/*/README.md")).parent)


def test_installed_modules_win(installed):
    kernel = installed.kernel()
    assert has_built(installed, kernel)
    for module in OURS:
        assert path_of(installed, module) == f"/lib/modules/{kernel}/updates/dkms/{module}.ko"
        assert installed.out(f"modinfo -k {kernel} -F version {module}") == trees.VERSION
    # The kernel's own modules stay where their package put them.
    assert installed.out(f"ls /lib/modules/{kernel}/kernel/drivers/md/dm-cache.ko*")
    assert not re.search("warning:", installed.out(f"cat /var/lib/dkms/hearth/{trees.VERSION}/*/*/log/make.log"))


def test_installing_makes_the_initramfs_anew(installed):
    """The trigger makes the initramfs, after the modules were built."""
    kernel = installed.kernel()
    assert re.search("update-initramfs: Generating /boot/initrd.img", installed.out("cat /install.log"))
    files = installed.out(f"lsinitramfs /boot/initrd.img-{kernel}")
    for module in OURS:
        assert f"updates/dkms/{module}.ko" in files


def test_the_packages_own_test_passes(installed):
    """The test that autopkgtest runs on the installed packages."""
    shutil.copy(trees.TOP / "debian/tests/installed", installed.share)
    installed.run("sh /tmp/share/installed")


def test_a_kernel_that_comes_gets_hearth(upgraded):
    other = upgraded.other
    assert has_built(upgraded, other), upgraded.log
    files = upgraded.out(f"lsinitramfs /boot/initrd.img-{other}")
    for module in OURS:
        assert f"lib/modules/{other}/updates/dkms/{module}.ko" in files, upgraded.log


def test_removing_brings_the_kernels_own_back(system):
    kernel = system.kernel()
    system.run("dpkg -r hearth hearth-dkms")
    assert path_of(system, "dm-cache") == f"/lib/modules/{kernel}/kernel/drivers/md/dm-cache.ko"
    assert path_of(system, "dm-cache-smq") == f"/lib/modules/{kernel}/kernel/drivers/md/dm-cache-smq.ko"
    files = system.out(f"lsinitramfs /boot/initrd.img-{kernel}")
    assert "kernel/drivers/md/dm-cache.ko" in files
    assert "updates/dkms" not in files
    # The package is removed but not purged, so its files in /etc stay.
    assert not [f for f in files.splitlines() if "hearth" in f and not f.startswith("etc/lvm/profile/")]


# Stands for the command hearth, of which hearth-leave wants to know whether all is settled.
ASKED = "#!/bin/sh\necho \"$*\" >>/asked\nexit $(cat /answer)\n"


def answers(tree, code):
    tree.run("rm -f /asked")
    tree.write("/answer", f"{code}\n")
    tree.write("/usr/sbin/hearth", ASKED)


def is_installed(tree, package):
    return tree.run(f"dpkg-query -W -f '${{db:Status-Status}}' {package}", check=False)[1] == "installed"


def test_removal_waits_for_the_write_logs(system):
    """Both packages stay while a volume is left that only hearth opens."""
    answers(system, 1)
    for package in ("hearth", "hearth-dkms"):
        code, out = system.run(f"HEARTH_FORCE_REMOVE= dpkg -r {package}", check=False)
        assert code and "hearth: not removed: the volumes named above have a write log" in out, out
        assert is_installed(system, package)
    assert system.out("cat /asked").splitlines() == ["settle --all"] * 2
    assert has_built(system, system.kernel())
    answers(system, 0)
    system.run("HEARTH_FORCE_REMOVE= dpkg -r hearth-dkms hearth")
    assert system.out("cat /asked").splitlines()[0] == "settle --all"
    assert not is_installed(system, "hearth") and not is_installed(system, "hearth-dkms")


OLDER = """
cd /tmp && for p in hearth hearth-dkms; do
	dpkg-deb -R /tmp/share/$p\\_*.deb $p && sed -i 's/^Version: .*/Version: 0.0.1/' $p/DEBIAN/control &&
	dpkg-deb -b $p /tmp/share/older-$p.deb || exit; done
"""


def test_a_downgrade_waits_for_the_write_logs(system, packages):
    packages.run("cp /src/build/deb/hearth_*.deb /src/build/deb/hearth-dkms_*.deb /tmp/share")
    hand_over(packages, system)
    system.run(OLDER)
    answers(system, 1)
    for package in ("hearth", "hearth-dkms"):
        code, out = system.run(f"HEARTH_FORCE_REMOVE= dpkg -i /tmp/share/older-{package}.deb", check=False)
        assert code and "hearth: not removed" in out, out
        assert system.out(f"dpkg-query -W -f '${{Version}}' {package}") == trees.VERSION
    answers(system, 0)
    system.run("HEARTH_FORCE_REMOVE= dpkg -i /tmp/share/older-hearth.deb")
    assert system.out("cat /asked") == "settle --all"
    # An upgrade, or the same version again, has nothing to wait for.
    answers(system, 1)
    system.run("HEARTH_FORCE_REMOVE= dpkg -i /tmp/share/hearth_*.deb")
    assert not system.exists("/asked")


def test_purging_leaves_no_file(system, bare):
    system.run("dpkg -P hearth hearth-dkms")
    # Files that DKMS and others keep for their own use, with any package.
    own = re.compile(r"^/(var/(log|cache|lib/(dpkg|dkms|initramfs-tools))|install.log|boot/initrd\.img|root)")
    after, before = system.files(), bare.files()
    left = sorted(f for f in after - before if not own.match(f))
    assert not left
    gone = sorted(f for f in before - after if not own.match(f))
    assert not gone
    assert not [f for f in after if "hearth" in f and not f.startswith("/var/lib/dpkg/")]


def hand_over(debs_of, tree):
    for deb in debs_of.share.glob("*.deb"):
        shutil.copy(deb, tree.share)


NEWER = trees.VERSION + ".1"
UPGRADED = f"""
cd /src && sed -i 's/{re.escape(trees.VERSION)}/{NEWER}/' dkms.conf debian/changelog
make deb >/src/deb.log 2>&1 || {{ tail -n 40 /src/deb.log; exit 1; }}
cp build/deb/hearth_*.deb build/deb/hearth-dkms_*.deb /tmp/share
"""


def test_upgrading(request, system, packages):
    """The new version's modules replace the old version's, also in the initramfs."""
    newer = packages.copy(trees.BUILD / "views" / "newer")
    request.addfinalizer(newer.remove)
    newer.run(UPGRADED)
    hand_over(newer, system)
    kernel = system.kernel()
    system.run("dpkg -i /tmp/share/*.deb")
    assert re.findall(r"^hearth/([^,]*), .*: installed", system.out("dkms status"), re.M) == [NEWER]
    assert not system.exists(f"/usr/src/hearth-{trees.VERSION}")
    system.run(f"mkdir /unpacked && unmkinitramfs /boot/initrd.img-{kernel} /unpacked")
    for module in OURS:
        assert system.out(f"modinfo -k {kernel} -F version {module}") == NEWER
        assert path_of(system, module) == f"/lib/modules/{kernel}/updates/dkms/{module}.ko"
        assert system.out(f"modinfo -F version /unpacked/lib/modules/{kernel}/updates/dkms/{module}.ko") == NEWER


def test_no_headers(fresh, installed):
    """The package is installed, says why it has no module, and leaves the kernel's own in the
    image.
    """
    hand_over(installed, fresh)
    kernel = fresh.kernel()
    fresh.run(f"rm /lib/modules/{kernel}/build")
    out = fresh.out("dpkg -i /tmp/share/*.deb")
    assert "kernel headers for this kernel do not seem to be installed" in out
    assert f"hearth: not built for kernel {kernel}" in out
    files = fresh.out(f"lsinitramfs /boot/initrd.img-{kernel}")
    assert "kernel/drivers/md/dm-cache.ko" in files
    assert "kernel/drivers/md/dm-cache-smq.ko" in files


def test_make_install_and_uninstall(request, packages):
    """The files go to the running root or to DESTDIR, and uninstall removes exactly these."""
    tree = packages.copy(trees.BUILD / "views" / "make-install")
    request.addfinalizer(tree.remove)
    kernel = tree.kernel()
    make = f"make -C /src KVER={kernel}"
    tree.run(f"{make} all >/dev/null 2>&1")
    before = tree.files()
    tree.run(f"{make} install install-dkms >/dev/null 2>&1")
    assert path_of(tree, "dm-cache") == f"/lib/modules/{kernel}/updates/dm-cache.ko"
    added = tree.files() - before
    for path in [
        f"/usr/lib/modules/{kernel}/updates/dm-cache-smq.ko",
        "/usr/lib/dracut/modules.d/90hearth/module-setup.sh",
        "/usr/lib/hearth/hearth-degraded",
        "/usr/lib/hearth/hearth-origin",
        "/usr/share/initramfs-tools/hooks/hearth",
        "/usr/share/man/man7/hearth-root.7",
        "/usr/sbin/hearth-metadata",
        f"/usr/src/hearth-{trees.VERSION}/dkms.conf",
    ]:
        assert path in added, path
    tree.run(f"{make} uninstall >/dev/null 2>&1")
    assert path_of(tree, "dm-cache") == f"/lib/modules/{kernel}/kernel/drivers/md/dm-cache.ko"
    left = sorted(tree.files() - before)
    assert not left

    tree.run(f"{make} install install-dkms DESTDIR=/dest >/dev/null 2>&1")
    there = {f.removeprefix("/dest") for f in tree.files() - before}
    assert there >= {f.replace("/usr/lib/modules", "/lib/modules") for f in added}
    tree.run(f"{make} uninstall DESTDIR=/dest >/dev/null 2>&1")
    assert tree.out("find /dest ! -type d") == ""
    assert tree.out("find /dest -name '*hearth*'") == ""
