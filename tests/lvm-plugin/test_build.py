# SPDX-License-Identifier: GPL-2.0-only
"""The promises to a newcomer: which targets install packages, one version, packages from an archive."""

import graphlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fake import BIN, HERE

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/lib"))
import links  # noqa: E402

TESTS = """test test-full unit policy-test fuzz model guest-test test-sanitize test-faults test-crash
soak bench bench-check bench-profile kernels lint demo test-boot""".split()
BUILDS = "all modules tools lists man install install-modules install-tools deb rpm check install-dkms".split()


SETUPS = {"setup", "setup-fuzz", "setup-debug-kernel", "setup-cluster"}


def run(*command, **options):
    return subprocess.run(command, cwd=TOP, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


@pytest.fixture(scope="module")
def needs():
    """Returns the targets that each target of the Makefile depends on, directly or not."""
    text = run("make", "-pq", "no-such-target").stdout
    direct = {m[1]: m[2].split() for m in re.finditer(r"^([\w-]+):(?!=)([^=\n]*)$", text, re.M)}

    def closure(target, seen):
        for other in direct.get(target, []):
            if other not in seen:
                seen.add(other)
                closure(other, seen)
        return seen

    return {target: closure(target, set()) for target in direct}


@pytest.mark.parametrize("target", TESTS)
def test_what_tests_gets_what_it_needs(needs, target):
    assert SETUPS & needs[target]


@pytest.mark.parametrize("target", BUILDS)
def test_what_builds_installs_nothing(needs, target):
    assert not (SETUPS | {"modules-ready"}) & needs[target]


def test_ci_is_the_test_command():
    lines = [line for line in (TOP / ".ci/run").read_text().splitlines() if line and not line.startswith("#")]
    assert lines == ["set -euo pipefail", 'cd "$(dirname "$0")/.."', "make test"]


def test_a_second_setup_costs_nothing():
    assert (TOP / "build/.setup-test").exists(), "make test runs it"
    # The CPU time is judged, because other programs do not add to it.
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run("scripts/setup")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0 and done.stdout == ""
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1


@pytest.fixture
def setup(tmp_path):
    """A copy of scripts/setup that prints "looked" in place of its work; returns it and a call of it."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "build/venv/bin").mkdir(parents=True)
    pytest_there = tmp_path / "build/venv/bin/pytest"
    pytest_there.write_text("")
    pytest_there.chmod(0o755)
    shutil.copy(TOP / "scripts/kver", tmp_path / "scripts")
    text = (TOP / "scripts/setup").read_text()
    begin, end = text.index("\ninstall_packages\n"), text.index("\n# The other kinds")
    script = tmp_path / "scripts/setup"
    script.write_text(text[:begin] + "\necho looked" + text[end:])

    def output(*kind):
        return subprocess.run(["bash", script, *kind], text=True, stdout=subprocess.PIPE, check=True).stdout

    return script, output


def test_another_setup_script_is_run(setup):
    """The stamp depends on the script, so that a changed script looks again."""
    script, output = setup
    assert output() == "looked\n"
    assert output() == ""
    script.write_text(script.read_text() + "# changed\n")
    assert output() == "looked\n"
    assert output() == ""


def test_what_could_not_be_had_is_tried_again_a_day_later(setup):
    script, output = setup
    script.write_text(script.read_text().replace("echo looked", "echo looked; lack 'chromium; see below'"))
    said = "looked\nsetup: no chromium; see below\n"
    assert output() == said
    assert output() == ""
    lacks = script.parent.parent / "build/.lacks"
    assert lacks.read_text() == "chromium; see below\n"
    day_old = time.time() - 86500
    os.utime(lacks, (day_old, day_old))
    assert output() == said


@pytest.mark.parametrize("kind", ["fuzz", "debug-kernel", "cluster"])
def test_every_setup_has_done_that_of_the_tests(setup, kind):
    """make test-full sets a fresh clone up with "cluster", and its tests call scripts/setup."""
    output = setup[1]
    assert output(kind) == "looked\n"
    assert output(kind) == ""
    assert output() == ""


def test_missing_headers_are_named():
    done = run("scripts/needs", "modules", "9.9.9-none")
    assert done.returncode == 1
    assert "apt install linux-headers-9.9.9-none\n" in done.stdout


def test_missing_tools_are_named(tmp_path):
    """The machine has a shell and little else."""
    for program in "bash echo sort env test".split():
        (tmp_path / program).symlink_to(shutil.which(program))
    done = run("bash", "scripts/needs", "tools", "deb", env={"PATH": str(tmp_path)})
    assert done.returncode == 1
    packages = re.search(r"apt install (.*)", done.stdout)[1].split()
    assert {"build-essential", "libdevmapper-dev", "debhelper", "dh-dkms"} <= set(packages)
    assert len(packages) == len(set(packages))


def test_nothing_is_missing_here():
    kver = run("scripts/kver").stdout.strip()
    assert run("scripts/needs", "modules", kver, "tools").returncode == 0


def test_an_archive_has_the_files_of_the_clone(tmp_path):
    listed = [f for f in run("scripts/source-files").stdout.splitlines() if (TOP / f).is_file()]
    for name in listed:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOP / name, tmp_path / name)
    for made in ("build/x", "dm-target/x.o", "dm-target/x.ko", "dm-target/.x.o.cmd", "dm-target/Module.symvers"):
        (tmp_path / made).parent.mkdir(exist_ok=True)
        (tmp_path / made).write_text("")
    found = subprocess.run(["bash", tmp_path / "scripts/source-files"], text=True, stdout=subprocess.PIPE, check=True)
    assert sorted(found.stdout.splitlines()) == sorted(listed)


def lines_of(name):
    """Returns the lines of a list, without its comments."""
    return [line for line in (TOP / name).read_text().splitlines() if line and not line.startswith("#")]


def test_links_of_packaged_documents():
    """A document that is in a package has no link to a file that is not."""
    assert run("make", "-s", "documents").returncode == 0
    assert lines_of("debian/hearth.docs") == ["build/documents/*"]
    spec = (TOP / "rpm/hearth.spec").read_text()
    assert re.search(r"^%doc (.*)$", spec, re.M)[1].split() == ["build/documents/*", "contrib"]
    nr, dead = links.followed(TOP / "build/documents")
    assert nr > 100 and not dead
    pages = {page.name for page in (TOP / "build/documents/man").iterdir()}
    assert pages == {page.name.removesuffix(".in") for page in (TOP / "man").iterdir()}


def test_a_dead_link_is_found(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out.md").write_text("")
    (tmp_path / "in/a.md").write_text(
        "[b](b.pml#x), [far](https://example.org), [out](../out.md), [a](#here), [a](a.md)")
    (tmp_path / "in/b.pml.gz").write_text("")
    assert links.followed(tmp_path / "in") == (3, ["a.md: b.pml", "a.md: ../out.md"])


def hardening(program):
    """Tells whether an ELF file is position-independent, bound at start, and has checked calls."""
    header, dynamic, symbols = (run("readelf", option, program).stdout for option in ("-hW", "-dW", "-sW"))
    return {
        "pie": "DYN (" in header,
        "bindnow": re.search(r"\(FLAGS(_1)?\).*\b(BIND_)?NOW\b", dynamic) is not None,
        "fortify": re.search(r"__(printf|fprintf|snprintf|memcpy|vsnprintf|vfprintf)_chk@", symbols) is not None,
    }


def test_programs_are_hardened(tmp_path):
    """Plain make hardens the programs, whatever the caller's environment is."""
    programs = ["hearth-metadata", "hearth", "libdevmapper-event-hearth.so"]
    environment = {"PATH": os.environ["PATH"]}
    for part in ("tools", "lvm-plugin"):
        done = run("make", "-s", "-C", part, f"OUT={tmp_path}", env=environment)
        assert done.returncode == 0 and "warning" not in done.stdout, done.stdout
    for name in programs:
        assert hardening(tmp_path / name) == {"pie": True, "bindnow": True, "fortify": True}, name


def test_source_for_dkms_is_source_alone(tmp_path):
    run("make", "-s", "-C", TOP, "install-dkms", f"DESTDIR={tmp_path}")
    sources, = (tmp_path / "usr/src").iterdir()
    assert {path.name for path in (sources / "dm-target").glob("*.c")} == \
        {path.name for path in (TOP / "dm-target").glob("*.c") if not path.name.endswith(".mod.c")}
    for path in sources.rglob("*"):
        assert path.is_dir() or re.search(r"(\.[ch]|Kbuild|dkms.conf)$", path.name), path


def symbols(path, *options):
    return {line.split()[-1] for line in run("nm", *options, path).stdout.splitlines()}


def calls_upward(files):
    """Names in each of files that a later one defines."""
    defined = [symbols(path, "--defined-only", "--extern-only") for path in files]
    for i, path in enumerate(files):
        needed = symbols(path, "--undefined-only")
        for j in range(i + 1, len(files)):
            yield from (f"{path.stem}: {name} of {files[j].stem}" for name in needed & defined[j])


def objects_of_the_engine(operator):
    """The objects that dm-target/Kbuild gives dm-cache.ko by := (dm-target's own), or by += (those below)."""
    kbuild = (TOP / "dm-target/Kbuild").read_text().replace("\\\n", " ")
    files = []
    for line in re.findall(rf"^dm-cache-y {re.escape(operator)} (.*)$", kbuild, re.M):
        prefix = re.search(r"addprefix ([^,]+),", line)
        files += [TOP / "dm-target" / ((prefix[1] if prefix else "") + name)
                  for name in re.findall(r"[\w./-]+\.o\b", line)]
    if not all(path.exists() for path in files):
        pytest.skip("the modules are not built")
    return files


def calls_of(files):
    """The other files whose functions each of files calls, by name."""
    defined = {path: symbols(path, "--defined-only", "--extern-only") for path in files}
    needed = {path: symbols(path, "--undefined-only") for path in files}
    return {path.stem: {other.stem for other in files if other != path and needed[path] & defined[other]}
            for path in files}


def circle_in(calls):
    try:
        graphlib.TopologicalSorter(calls).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def test_no_files_below_the_engine_call_in_a_circle():
    """Metadata, persistent-data, slots and write-log, which call no file of dm-target either."""
    below, engine = objects_of_the_engine("+="), objects_of_the_engine(":=")
    assert {path.parent.name for path in below} == {"metadata", "persistent-data", "slots", "write-log"}
    calls = calls_of(below + engine)
    names = {path.stem for path in engine}
    assert circle_in(calls) == []
    assert {path.stem: calls[path.stem] & names for path in below if calls[path.stem] & names} == {}
    # The symbols were found, and a circle would be.
    assert calls["log-load"] and calls["cache-commit"] & {path.stem for path in below}
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}})


def test_no_file_of_the_engine_calls_a_later_one():
    """dm-target/Kbuild and cache.h promise it, and so the engine has no circle."""
    files = objects_of_the_engine(":=")
    assert list(calls_upward(files)) == []
    assert list(calls_upward(files[::-1]))
    listed = re.findall(r"^ \*   (cache-[a-z-]+)\.c ", (TOP / "dm-target/cache.h").read_text(), re.M)
    assert listed == [path.stem for path in files]


def test_no_file_of_the_engine_is_too_long_to_read():
    files = [*(TOP / "dm-target").glob("cache*.c"), *(TOP / "slots").glob("*.c"), *(TOP / "write-log").glob("*.c")]
    lines = {path.name: len(path.read_text().splitlines()) for path in files}
    assert len(lines) > 40
    assert {name: n for name, n in lines.items() if n > 900} == {}


@pytest.mark.parametrize("allow", ["", "1"])
def test_a_missing_program_is_no_silent_skip(tmp_path, allow):
    """Where scripts/setup has been through, a test fails for the want of a program."""
    (tmp_path / "test_it.py").write_text(
        'import pytest\n\n\n@pytest.mark.needs("no-such-program")\ndef test_it():\n    pass\n')
    r = run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "conftest", "-c", "/dev/null", tmp_path,
            env=os.environ | {"PYTHONPATH": str(HERE), "HEARTH_ALLOW_SKIPS": allow})
    if allow or not any((TOP / "build").glob(".setup-*")):
        assert "1 skipped" in r.stdout, r.stdout
    else:
        assert r.returncode == 1 and "no no-such-program: scripts/setup" in r.stdout, r.stdout


# The packages of the programs that have another name than their package.
PACKAGE = {"gnuplot": "gnuplot-nox", "promtool": "prometheus", "systemd-analyze": "systemd"}


def programs_of(file):
    """The programs that the tests of a file need."""
    marks = re.findall(r"^@pytest\.mark\.needs\((.*)\)|\bneed\(([^)]*)\)", file.read_text(), re.M)
    return {name for names in marks for name in re.findall(r'"([\w-]+)"', "".join(names))}


def test_programs_that_tests_need_are_installed_by_setup():
    setup = (TOP / "scripts/setup").read_text()
    needed = set()
    for file in HERE.glob("*.py"):
        text = file.read_text()
        needed |= programs_of(file)
        if file.name != "test_build.py":
            # No test skips for the want of a program that setup installs.
            for name in re.findall(r'skipif\(not shutil\.which\("([\w-]+)"', text):
                assert not re.search(rf"\b{name}\b", setup), f"{file.name}: {name}"
    assert len(needed) >= 8
    for name in needed:
        assert re.search(rf"(?<![\w-]){PACKAGE.get(name, name)}(?![\w-])", setup), name


def foreign_modules(file):
    """The modules that a file imports at its top, and that are neither Python's own nor of this tree."""
    imported = {name.split(".")[0] for names in re.findall(r"^(?:import|from) ([\w., ]+)", file.read_text(), re.M)
                for name in names.split(" import ")[0].replace(" ", "").split(",")}
    ours = {path.stem for path in TOP.glob("tests/*/*.py")}
    return imported - sys.stdlib_module_names - ours


def test_the_test_of_the_package_depends_on_what_tests_need():
    """debian/tests/unit runs on a machine that has only these packages."""
    text = (TOP / "debian/tests/control").read_text()
    depends = set(re.search(r"^Tests: unit\nDepends: (.*)", text, re.M)[1].split(", "))
    files = [*HERE.glob("*.py"), *TOP.glob("tests/bench/test_*.py"), *TOP.glob("tests/simulator/*.py")]
    modules = set().union(*map(foreign_modules, files))
    assert modules == {"pytest", "jsonschema", "yaml"}
    assert {f"python3-{module}" for module in modules} <= depends
    programs = set().union(*map(programs_of, files)) - {"no-such-program"}
    assert {PACKAGE.get(name, name) for name in programs} <= depends


def test_one_version(dm):
    version = re.search(r'PACKAGE_VERSION="(.*)"', (TOP / "dkms.conf").read_text())[1]
    assert re.match(r"hearth \((.*)\)", (TOP / "debian/changelog").read_text())[1] == version
    spec = (TOP / "rpm/hearth.spec").read_text()
    assert re.search(r"^Version: +(.*)$", spec, re.M)[1] == version
    assert f" - {version}-1\n" in spec
    assert f"dkms install hearth/{version} " in (TOP / "README.md").read_text()
    assert run(BIN / "fake/hearth", "--version").stdout == f"hearth {version}\n"
    tools = list(TOP.glob("build/*/hearth-metadata"))
    modules = list((TOP / "dm-target").glob("*.ko"))
    # A packager's "make check" may run before there is a module.
    assert tools and modules or not any((TOP / "build").glob(".setup-*"))
    for tool in tools:
        assert run(tool, "--version").stdout == f"hearth-metadata {version}\n"
    assert f"\n## {version}\n" in (TOP / "CHANGELOG.md").read_text()
    assert json.loads(dm.run("status", "--json").stdout)["version"] == version
    for module in modules:
        assert run("/sbin/modinfo", "-F", "version", module).stdout.strip() == version


@pytest.fixture
def pages(tmp_path):
    """Makes a tree with the checks of documents; returns a function that checks a page.md."""
    for name in ("lint-docs", "source-files"):
        (tmp_path / "scripts").mkdir(exist_ok=True)
        shutil.copy(TOP / "scripts" / name, tmp_path / "scripts")
    (tmp_path / "Makefile").write_text("all modules:\n\ttrue\n")
    (tmp_path / "dm-target").mkdir()
    (tmp_path / "dm-target/cache.c").write_text("int cache_map(void)\nvoid test_of_maps(void)\n")

    def check(text):
        (tmp_path / "page.md").write_text(text)
        done = subprocess.run([tmp_path / "scripts/lint-docs", tmp_path / "page.md"], text=True, stdout=subprocess.PIPE)
        assert done.returncode == (1 if done.stdout else 0)
        return [line.split(": ", 1)[1] for line in done.stdout.splitlines()]

    return check


@pytest.mark.parametrize("text", [
    "# A head\n\n[there](#a-head), [file](dm-target/cache.c), [far](https://example.org/none)",
    "`cache_map()`, `of_maps`, `cache.c`, `make modules`, `dm-target/*.c`, `build/any.c`",
    "| a table's row " + "is as wide as it is " * 9 + "|",
    "    an example " + "is as wide as it is " * 9,
    "```\n`none_such` [none](none.md) " + "in an example " * 9 + "\n```",
], ids=["links", "names", "table", "example", "fence"])
def test_a_right_page_passes(pages, text):
    assert pages(text + "\n") == []


@pytest.mark.parametrize("text, fault", [
    ("[none](none.md)", "no file for the link none.md"),
    ("[none](#none)", "no heading for the link #none"),
    ("`cache_unmap()`", "no name cache_unmap"),
    ("`on_maps`", "no name on_maps"),
    ("`dm-target/none.c`", "no file dm-target/none.c"),
    ("`none.sh`", "no file none.sh"),
    ("`make none`", "no target none in Makefile"),
    ("prose " * 17, "102 columns; prose has 100"),
])
def test_what_is_wrong_in_a_page_is_said(pages, text, fault):
    assert pages(f"A line.\n\n{text}\n") == [fault]


PROTOTYPES = {
    "one line": "/** a() - answer */\nint a(void);\n",
    "parameters": "/**\n * a() - answer\n * @b: in seconds\n *\n * Return: 0.\n */\nint a(int b);\n",
    "two lines": "/**\n * a() - answer\n * @b: in seconds\n */\nconst struct b *a(int b,\n\t\t  int c);\n",
    "attribute": "/**\n * a() - say\n * @b: how\n */\n"
                 "__attribute__((format(printf, 1, 2)))\nvoid a(const char *b, ...);\n",
    "callback": "/**\n * a() - tell\n * @b: is called\n */\nvoid a(void (*b)(int c));\n",
    "macro": "/** a() - answer */\nMADE_BY(a);\n",
    "two stars": "/**\n * a() - find\n * @b: what\n */\nstruct b **a(int b);\n",
    "inline": "/**\n * a() - find\n * @b: what\n */\nstatic inline struct b **a(int b)\n{\n\treturn c;\n}\n",
    "inline, two lines": "/**\n * a() - answer\n * @b: what\n */\n"
                         "static inline unsigned int\na(int b,\n  int c)\n{\n\treturn b;\n}\n",
    "always inline": "/** a() - answer */\nstatic __always_inline int a(void)\n{\n\treturn 0;\n}\n",
}


def undocumented(path, text):
    path.write_text(text)
    done = subprocess.run([TOP / "scripts/lint-prototypes", path], text=True, stdout=subprocess.PIPE)
    assert done.returncode == (1 if done.stdout else 0)
    return [line.removeprefix(f"{path}:") for line in done.stdout.splitlines()]


@pytest.mark.parametrize("text", PROTOTYPES.values(), ids=PROTOTYPES)
def test_a_prototype_has_kernel_doc(tmp_path, text):
    comment, prototype = text.split("*/\n")
    others = "struct b {\n\tint (*run)(int c);\n};\nextern const char c[];\n#define D(e)\tf(e);\nTRACE(E);\n"
    assert undocumented(tmp_path / "a.h", others + text) == []
    for above in ("", f"{comment.replace('/**', '/*')}*/\n", f"{comment}*/\n\n", f"{comment}*/\nint d;\n",
                  f"{comment.replace('a()', 'b()')}*/\n", f"{comment.replace(' -', '')}*/\n"):
        line = 1 + above.count("\n")
        assert undocumented(tmp_path / "a.h", above + prototype) == [f"{line}: a() has no kernel-doc"]


def test_parameters_need_more_than_one_line(tmp_path):
    text = "/** a() - answer */\nint a(int b);\n"
    assert undocumented(tmp_path / "a.h", text) == ["2: a() has parameters, and kernel-doc of one line"]


def wordy(tree, files):
    """Runs the check of words on a tree of these files; returns FILE:LINE of each fault."""
    (tree / "scripts").mkdir()
    for name in ("lint-words", "source-files"):
        shutil.copy(TOP / "scripts" / name, tree / "scripts")
    for name, text in files.items():
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text(text)
    done = subprocess.run([tree / "scripts/lint-words"], text=True, stdout=subprocess.PIPE)
    assert done.returncode == (1 if done.stdout else 0)
    return sorted(line.split(": ")[0] for line in done.stdout.splitlines())


# {} stands for the first word, because this file is checked, too.
STAND_INS = [
    ("a.c", 1, "/* {} waits here. */\n"),
    ("a.c", 1, "int a;\t/* {} waits here */\n"),
    ("a.h", 3, "/*\n *\n * {} waits here.\n */\n"),
    ("a.c", 2, "/*\n * It waits. {}\n * waits, too. */\n"),
    ("a.pml", 1, "/* ---- {} waits here ---- */\n"),
    ("a.sh", 2, "\n# {} waits here.\n[ a ? b ]\n"),
    ("a", 2, "#!/bin/bash\n# {} waits here.\n"),
    ("Makefile", 1, "# {} waits here.\n"),
    ("Kbuild", 1, "# {} waits here.\n"),
    ("a.spec", 1, "# {} waits here.\n"),
    ("a.conf", 1, "# {} waits here.\n"),
    (".arc", 1, "# {} waits here.\n"),
    ("control", 2, "Description: it waits\n {} waits here.\n"),
    ("a.py", 1, '"""{} waits here."""\n'),
    ("a.py", 1, "# It waits (here). {} waits, too.\n"),
    ("a.py", 1, 'assert a, "{} waits here"\n'),
    ("a.md", 1, "## {} waits\n"),
    ("a.md", 2, "\n* **{} waits** here. Why?\n"),
    ("a.md", 1, "| {} waits | why? |\n"),
    ("a.8", 2, ".SH NAME\n{} waits here.\n"),
]


def test_stand_ins_for_a_noun_are_found(tmp_path):
    files, faults = {}, []
    for word in "Who", "What", "Of", "Else", "Those":
        for i, (name, line, text) in enumerate(STAND_INS):
            files[f"{word}{i}/{name}"] = text.replace("{}", word)
            faults.append(f"{word}{i}/{name}:{line}")
    assert wordy(tmp_path, files) == sorted(faults)


def test_questions_and_words_within_a_sentence_pass(tmp_path):
    assert wordy(tmp_path, {name: text.replace("{}", "Who") for name, text in {
        "a.c": "/* {} waits\n * here? It does. */\n",
        "a.sh": "# {} waits here?\n",
        "a.md": "The question: {} waits here?\n",
        "b.c": "/* It waits for {} and others. */\n",
        "c.c": "/* {}: waits. */\n",
        "a.svg": "<!-- {} waits here. -->\n",
        "CHANGELOG.md": "{} waits here.\n",
    }.items()}) == []
