// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth doctor --fix: the repairs that are no risk to data.  A repair runs one or two
 * commands, or writes a line to LVM's configuration.  doctor.c shows the repair and asks
 * before it, and examines the machine again afterwards.
 *
 * It must not decide what is wrong: doctor-system.c does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "hearth.h"
#include "lvm.h"
#include "sysfs.h"

#define LVM_CONF	"lvmlocal.conf"

static int run(const char *const argv[])
{
	int code = lvm_run(argv);

	if (code)
		complain("%s: exit status %d", argv[0], code);
	return code ? EXIT_FAILED : EXIT_OK;
}

/* ---- Modules ---- */

static int fix_depmod(const char *subject)
{
	const char *const argv[] = { "depmod", "-a", kernel_release(), NULL };

	return run(argv);
}

static int fix_reload(const char *subject)
{
	const char *const out[] = {
		"modprobe", "-r", "dm-cache-smq", "dm-cache", NULL
	};
	const char *const in[] = { "modprobe", "dm-cache", NULL };

	return run(out) ?: run(in);
}

/* ---- The initramfs ---- */

/* @subject is the release of another kernel, or "system" for the running kernel. */
static const char *release_of(const char *subject)
{
	return strcmp(subject, "system") ? subject : kernel_release();
}

static int fix_initramfs_tools(const char *subject)
{
	const char *const argv[] = {
		"update-initramfs", "-u", "-k", release_of(subject), NULL
	};

	return run(argv);
}

static int fix_dracut(const char *subject)
{
	const char *const argv[] = {
		"dracut", "--force", "--kver", release_of(subject), NULL
	};

	return run(argv);
}

/* ---- LVM ---- */

static int fix_policy(const char *subject)
{
	const char *const argv[] = {
		"lvchange", "-y", "--cachepolicy", "smq", "--", subject, NULL
	};

	return run(argv);
}

#define REPAIR_LINE	"global/cache_repair_executable"
#define BACKUP		".before-hearth"

/* The caller frees it. */
static char *local_conf(void)
{
	const char *directory = getenv("LVM_SYSTEM_DIR");

	if (directory && directory[0])
		return xasprintf("%s/" LVM_CONF, directory);
	return root_path("/etc/lvm/" LVM_CONF);
}

/*
 * Copies the file without the lines of an earlier repair, because LVM warns of a value that
 * is there twice.  False if the administrator has set the value in another form.
 */
static bool copy_conf(FILE *from, FILE *to)
{
	char *line = NULL;
	size_t room = 0;
	bool ok = true;

	while (ok && getline(&line, &room, from) > 0) {
		const char *text = line + strspn(line, " \t");

		if (!strncmp(text, REPAIR_LINE, strlen(REPAIR_LINE)) ||
		    strstr(line, "By 'hearth doctor --fix'"))
			continue;
		ok = text[0] == '#' || !strstr(text, "cache_repair_executable");
		fputs(line, to);
	}
	free(line);
	return ok;
}

/* The former configuration becomes the backup.  If the new one then fails, it goes back. */
static int put_in_place(const char *path, const char *made, const char *backup)
{
	bool moved = !rename(path, backup);

	if ((moved || errno == ENOENT) && !rename(made, path))
		return EXIT_OK;
	complain("%s: %s", path, strerror(errno));
	if (moved && rename(backup, path))
		complain("%s: the former configuration is in %s", path, backup);
	unlink(made);
	return EXIT_FAILED;
}

/* Writes the new configuration, @to, with the lines of the former one; @from: NULL: no file. */
static int write_conf(const char *path, FILE *from, FILE *to)
{
	bool ours = !from || copy_conf(from, to);
	bool ok = !from || !ferror(from);

	fputs("# By 'hearth doctor --fix': what repairs a cache's metadata, hearth-metadata(8).\n"
	      REPAIR_LINE " = \"" HEARTH_REPAIR "\"\n", to);
	ok = !ferror(to) && ok;
	ok = !fclose(to) && ok;
	if (ours && ok)
		return EXIT_OK;
	complain(ours ? "%s: it could not be copied" :
		 "%s: it sets cache_repair_executable; change that to \"" HEARTH_REPAIR "\"",
		 path);
	return EXIT_FAILED;
}

/* Writes the new configuration to the file @made, which is gone again after an error. */
static int make_conf(const char *path, const char *made)
{
	FILE *from = fopen(path, "re"), *to;
	int r = EXIT_FAILED;

	if (!from && errno != ENOENT) {
		complain("%s: %s", path, strerror(errno));
		return EXIT_FAILED;
	}
	to = fopen(made, "we");
	if (to)
		r = write_conf(path, from, to);
	else
		complain("%s: %s", made, strerror(errno));
	if (from)
		fclose(from);
	if (r && to)
		unlink(made);
	return r;
}

static int fix_repair(const char *subject)
{
	char *path = local_conf();
	char *made = xasprintf("%s.hearth-new", path), *backup = xasprintf("%s" BACKUP, path);
	int r = make_conf(path, made);

	if (!r)
		r = put_in_place(path, made, backup);
	free(backup);
	free(made);
	free(path);
	return r;
}

/* ---- All of them ---- */

static const struct fix fixes[] = {
	[FIX_DEPMOD] = { "depmod -a", fix_depmod },
	[FIX_RELOAD] = {
		"modprobe -r dm-cache-smq dm-cache; modprobe dm-cache",
		fix_reload
	},
	[FIX_INITRAMFS_TOOLS] = { "update-initramfs -u", fix_initramfs_tools },
	[FIX_DRACUT] = { "dracut --force", fix_dracut },
	[FIX_POLICY] = { "lvchange --cachepolicy smq", fix_policy },
	[FIX_REPAIR] = {
		"write global/cache_repair_executable = \"" HEARTH_REPAIR "\" to LVM's " LVM_CONF " (the file before: " LVM_CONF BACKUP ")",
		fix_repair
	},
};

const struct fix *fix_of(enum fix_id id)
{
	return &fixes[id];
}
