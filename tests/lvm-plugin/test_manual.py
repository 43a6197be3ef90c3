# SPDX-License-Identifier: GPL-2.0-only
"""The manual page, --help and the completion of the shells know the same subcommands,
options and exit codes."""

import re
import subprocess

import pytest

from fake import BIN, HERE, lists

TOP = HERE.parents[1]
PAGE = TOP / "man/hearth.8"
PAGES = sorted(path.name.removesuffix(".in") for path in TOP.glob("man/*.[78]*"))


def subcommands(dm):
    return re.findall(r"^  ([\w-]+) ", dm.out("--help"), re.M)


def options(dm, sub):
    return re.findall(r"^ {2,6}(?:-\w, )?(--[\w-]+)", dm.out(sub, "--help"), re.M)


def page():
    return PAGE.read_text().replace("\\-", "-")


def test_every_subcommand(dm):
    for sub in subcommands(dm):
        assert f"hearth {sub}" in page()
        for option in options(dm, sub):
            assert option in page(), f"{sub} {option}"
    named = set(re.findall(r"^\.SS .*", page(), re.M))
    for sub in re.findall(r"hearth ([\w-]+)", " ".join(named)):
        assert sub in subcommands(dm), f"{sub} is only in the manual"


def test_help_fits_80_columns(dm):
    for args in [[]] + [[sub] for sub in subcommands(dm)]:
        assert max(map(len, dm.out(*args, "--help").splitlines())) <= 80


def test_help_fits_24_lines_with_the_prompt(dm):
    assert len(dm.out("--help").splitlines()) <= 23


def owned(dm):
    """Returns the words of hearth set --help that name a policy, and the entries below each."""
    text = dm.out("set", "--help").split("\nSettings of the ", 1)[1]
    return {section.split(":", 1)[0]: section for section in text.split("\nSettings of the ")}


@pytest.mark.parametrize("setting", lists.SETTINGS, ids=lambda s: f"{s.owner}-{s.key}")
def test_help_has_the_setting(dm, setting):
    section = next(text for names, text in owned(dm).items() if setting.owner in re.findall(r"\w+", names))
    entry = re.search(rf"^  {setting.key}= +(\(.*(?:\n    .*)*)", section, re.M)[1]
    unit = "" if setting.unit in ("", "0 or 1") else f"{setting.unit}, "
    to = "or" if setting.most - setting.least == 1 else "to"
    default = f", default {setting.default}" if setting.default >= setting.least else ""
    assert " ".join(entry.split()) == \
        f"({unit}{setting.least} {to} {setting.most}{default}) {setting.help}"


def test_help_has_no_other_setting(dm):
    keys = [key for text in owned(dm).values() for key in re.findall(r"^  (\w+)=", text, re.M)]
    assert sorted(keys) == sorted(setting.key for setting in lists.SETTINGS)


def test_exit_codes():
    header = (TOP / "lvm-plugin/hearth.h").read_text()
    codes = re.findall(r"EXIT_\w+ = (\d+)", header)
    documented = page().split(".SH EXIT STATUS")[1].split(".SH")[0]
    assert re.findall(r"^\.B (\d+)$", documented, re.M) == codes


@pytest.mark.needs("mandoc")
def test_pages_render():
    subprocess.run(["make", "-s", "man"], cwd=TOP, check=True)
    r = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *(TOP / "build/man" / name for name in PAGES)],
                       capture_output=True, text=True, check=False)
    assert r.returncode == 0 and not r.stdout, r.stdout + r.stderr


@pytest.mark.needs("mandoc")
@pytest.mark.parametrize("name", PAGES)
def test_sentences_are_not_glued_together(name):
    """A macro that alternates fonts would join further words to the sentence's end."""
    subprocess.run(["make", "-s", f"build/man/{name}"], cwd=TOP, check=True)
    r = subprocess.run(["mandoc", "-Tascii", TOP / "build/man" / name], capture_output=True, text=True, check=True)
    text = re.sub(".\b", "", r.stdout)
    assert not re.findall(r"\S*[a-z)]\.[A-Z][a-z]\S*", text)


def test_completion(dm):
    script = TOP / "lvm-plugin/completion/hearth.bash"

    def complete(*words):
        line = " ".join(words)
        r = subprocess.run(
            ["bash", "-c", f'. "{script}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hearth;'
             'printf "%s\\n" "${COMPREPLY[@]}"', "bash", *words],
            capture_output=True, text=True, check=False, env=dm.environment())
        assert not r.stderr, f"{line}: {r.stderr}"
        return set(r.stdout.split())

    dm.cache()
    (dm.path / "bin/hearth").symlink_to(BIN / "fake/hearth")
    assert complete("hearth", "") >= set(subcommands(dm))
    for sub in subcommands(dm):
        assert complete("hearth", sub, "--") >= set(options(dm, sub)), sub
    assert complete("hearth", "status", "v") == {"vg/lv"}
    assert complete("hearth", "set", "vg/lv", "mo") == {"mode="}
    keys = {f"{setting.key}=" for setting in lists.SETTINGS}
    assert complete("hearth", "set", "vg/lv", "") == {"mode=", "policy="} | keys
    assert "low-wear" in complete("hearth", "set", "--preset", "lo")
    # bash cuts the words at "=".
    assert complete("hearth", "set", "vg/lv", "mode", "=", "writeb") == {"writeback"}
    assert complete("hearth", "set", "vg/lv", "mode", "=") >= {"writeback", "writearound"}
    assert complete("hearth", "set", "vg/lv", "policy", "=", "l") == {"lru"}
    assert complete("hearth", "set", "vg/lv", "read_level", "=", "") == {"default"}
    assert complete("hearth", "advise", "--policy", "") > {"heat", "lru", "nhit"}
    assert "fiolog" in complete("hearth", "advise", "--format", "fio")
    assert complete("hearth", "advise", "--live", "v") == {"vg/lv"}
    for sub in ("doctor", "export"):
        assert complete("hearth", sub, "") == set(), sub
    assert complete("hearth", "help", "st") == {"status"}
    assert complete("hearth", "set", "--preset", "=", "lo") == {"low-wear"}
    assert complete("hearth", "set", "vg/lv", "mode", "=", "writeback", "poli") == {"policy="}
    assert complete("hearth", "status", "vg/lv", "") == set()
    assert complete("hearth", "get", "vg/lv", "mo") == {"mode"}
    assert complete("hearth", "iostat", "v") == complete("hearth", "top", "v") == {"vg/lv"}
    assert complete("hearth", "top", "--sort", "read") == {"reads", "read-hits"}
    assert complete("hearth", "status", "-o", "name,data_s") == {"name,data_size"}
    assert complete("hearth", "get", "-O", "-ke") == {"-key", "-kept"}
    assert complete("hearth", "iostat", "-T", "") == complete("hearth", "top", "-T", "") == {"d", "u"}
    assert complete("hearth", "status", "--reportformat", "") == {"basic", "json"}
    assert complete("hearth", "origin", "--keep", "c") == {"cache"}
    (dm.path / "trace.txt").touch()
    assert complete("hearth", "advise", f"{dm.path}/tr") == {f"{dm.path}/trace.txt"}


@pytest.mark.parametrize("sub", ["cache", "advise", "bench"])
def test_the_old_name_of_an_option_works_and_is_not_shown(dm, sub):
    old = re.compile(r"--block(?!size)")
    assert "--blocksize=KIB" in dm.out(sub, "--help") and not old.search(page())
    for shown in (dm.out(sub, "--help"), dm.out(sub, "--usage"), dm.out("__complete", sub, "--bl")):
        assert "--blocksize" in shown and not old.search(shown)
    # Its value is no argument.
    for name in ("--block", "--blocksize"):
        assert dm.out("__complete", sub, name, "64", "x", "") == dm.out("__complete", sub, "x", "")
        words = ["x"] * {"cache": 2, "advise": 1, "bench": 2}[sub]
        for given in ([name, "31"], [f"{name}=31"]):
            assert "--blocksize 31: must be a number from 32" in dm.complaint(2, sub, *given, *words)


def test_completion_says_what_a_word_is(dm):
    dm.cache()
    assert "status\tshow how a cache is doing, or all of them\n" in dm.out("__complete", "st")
    assert dm.out("__complete", "status", "--js") == "--json\tprint JSON\n"
    assert dm.out("__complete", "status", "") == "vg/lv\twriteback\n"
    # Not even a machine without device-mapper makes the shell print an error.
    r = dm.run("__complete", "status", "", env={"HEARTH_FAKE_ERROR": "19"})
    assert r.stdout == r.stderr == ""


@pytest.mark.parametrize("sub", ["status", "iostat", "get"])
def test_completion_has_every_column(dm, sub):
    dm.cache()
    shown = dm.out(sub, "-o", "help", *["vg/lv"] * (sub == "get"))
    columns = re.findall(r"^  (\w+) +- (.*)$", shown.split("Special Fields")[0], re.M)[1:]
    offered = [line.split("\t") for line in dm.out("__complete", sub, "-o", "").splitlines()]
    assert len(columns) > 5 and offered == [list(column) for column in columns]


@pytest.mark.needs("fish")
def test_completion_of_fish(dm):
    dm.cache()
    (dm.path / "bin/hearth").symlink_to(BIN / "fake/hearth")
    (dm.path / "trace.txt").touch()

    def complete(line):
        script = f'source {TOP}/lvm-plugin/completion/hearth.fish; complete -C "$argv"'
        r = subprocess.run(["fish", "--no-config", "-c", script, line], capture_output=True, text=True,
                           check=False, env=dm.environment(HOME=str(dm.path)))
        assert not r.stderr, r.stderr
        return {found.split("\t")[0] for found in r.stdout.splitlines()}

    assert complete("hearth ") >= set(subcommands(dm))
    assert complete("hearth status v") == {"vg/lv"}
    assert complete("hearth set vg/lv mode=writeb") == {"mode=writeback"}
    assert complete("hearth set vg/lv read_l") == {"read_level="}
    assert complete("hearth set --preset lo") == {"low-wear"}
    assert complete("hearth top --c") >= {"--count"}
    assert complete(f"hearth advise {dm.path}/tr") == {f"{dm.path}/trace.txt"}


@pytest.mark.needs("zsh")
@pytest.mark.parametrize("typed, becomes", [
    ("hearth status v\t", "hearth status vg/lv"),
    ("hearth set vg/lv mode=writeb\t", "hearth set vg/lv mode=writeback"),
    ("hearth set vg/lv read_l\t3", "hearth set vg/lv read_level=3"),
    ("hearth set --preset lo\t", "hearth set --preset low-wear"),
    ("hearth advise ./trac\t", "hearth advise ./trace.txt"),
])
def test_completion_of_zsh(dm, tmux, typed, becomes):
    dm.cache()
    (dm.path / "bin/hearth").symlink_to(BIN / "fake/hearth")
    (dm.path / "trace.txt").touch()
    tmux.start("zsh -f")
    tmux.type(f"cd {dm.path}; fpath=({TOP}/lvm-plugin/completion $fpath); "
              "autoload -U compinit; compinit -u -D; PS1='ready: '; clear\n")
    tmux.wait_for(lambda screen: screen.strip() == "ready:")
    tmux.type(typed)
    tmux.wait_for(lambda screen: screen.strip() == f"ready: {becomes}")


def test_completion_ends_a_value_at_a_terminal(dm, tmux):
    (dm.path / "bin/hearth").symlink_to(BIN / "fake/hearth")
    tmux.start("bash --norc --noprofile")
    tmux.type(f". {TOP}/lvm-plugin/completion/hearth.bash; PS1='ready: '; clear\n")
    tmux.wait_for(lambda screen: screen.strip() == "ready:")
    tmux.type("hearth set vg/lv mode=writeb\t")
    tmux.wait_for(lambda screen: screen.rstrip().endswith("mode=writeback"))


def test_help_and_version(dm):
    for word in "-h", "--help", "help":
        assert dm.out(word).startswith("Usage: hearth SUBCOMMAND")
    for args in ("set", "-h"), ("set", "--help"), ("help", "set"):
        assert dm.out(*args).startswith("Usage: hearth set [OPTION...] CACHE [KEY=VALUE]...")
    for sub in subcommands(dm):
        assert dm.out(sub, "-h") == dm.out("help", sub)
        assert dm.out(sub, "-V") == dm.out(sub, "--version") == dm.out("-V")
        assert "--version" in dm.out(sub, "--usage")
    assert dm.out("-V") == dm.out("--version")
    assert "no subcommand 'nosuch'" in dm.complaint(2, "help", "nosuch")


def test_an_option_that_there_is_not(dm):
    r = dm.run("status", "--jsn", code=2)
    assert r.stderr.startswith("hearth status: unrecognized option '--jsn'\n")


def test_help_says_whose_size(dm):
    assert "that of the old one" in " ".join(dm.out("replace-ssd", "--help").split())
    assert "a tenth of the bytes touched" not in dm.out("replace-ssd", "--help")
    assert "a tenth of the bytes touched" in dm.out("advise", "--help")


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["status", "--help"]])
def test_output_that_cannot_be_written(dm, args):
    with open("/dev/full", "w", encoding="ascii") as full:
        r = subprocess.run([BIN / "fake/hearth", *args], stdout=full, text=True,
                           stderr=subprocess.PIPE, env=dm.environment(), check=False)
    assert r.returncode == 1
    assert r.stderr == "hearth: standard output: No space left on device\n"
