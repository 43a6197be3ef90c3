// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth doctor --fix: what can be done about a finding without risk to data.
 * Each fix is a few commands, or a line for LVM's configuration; it is shown
 * and asked for before.  Whether it helped is seen by looking again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "findings.h"
#include "hearth.h"
#include "lvm.h"

#define LVM_CONF	"lvmlocal.conf"

const char *kernel_release(void)
{
	static struct utsname u;

	uname(&u);
	return u.release;
}

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

static int fix_initramfs_tools(const char *subject)
{
	const char *const argv[] = {
		"update-initramfs", "-u", "-k", kernel_release(), NULL
	};

	return run(argv);
}

static int fix_dracut(const char *subject)
{
	const char *const argv[] = {
		"dracut", "--force", "--kver", kernel_release(), NULL
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

static int fix_no_repair(const char *subject)
{
	const char *directory = getenv("LVM_SYSTEM_DIR");
	char path[700];
	FILE *f;
	bool ok;

	if (directory && directory[0])
		snprintf(path, sizeof(path), "%s/" LVM_CONF, directory);
	else
		snprintf(path, sizeof(path), "%s/etc/lvm/" LVM_CONF, dm_root());
	f = fopen(path, "ae");
	ok = f && fputs("\n# By 'hearth doctor --fix'. This cache_repair takes what is dirty for clean.\n"
			"# Remove it when thin-provisioning-tools is 1.0 or later.\n"
			"global/cache_repair_executable = \"" REPAIR_OFF "\"\n",
			f) >= 0;
	if (f && fclose(f))
		ok = false;
	if (!ok)
		complain("%s: %s", path, strerror(errno));
	return ok ? EXIT_OK : EXIT_FAILED;
}

/* ---- ---- */

static const struct fix fixes[] = {
	[FIX_DEPMOD] = { "depmod -a", fix_depmod },
	[FIX_RELOAD] = {
		"modprobe -r dm-cache-smq dm-cache; modprobe dm-cache",
		fix_reload
	},
	[FIX_INITRAMFS_TOOLS] = { "update-initramfs -u", fix_initramfs_tools },
	[FIX_DRACUT] = { "dracut --force", fix_dracut },
	[FIX_POLICY] = { "lvchange --cachepolicy smq", fix_policy },
	[FIX_NO_REPAIR] = {
		"write global/cache_repair_executable = \"" REPAIR_OFF "\" to LVM's " LVM_CONF,
		fix_no_repair
	},
};

const struct fix *fix_of(enum fix_id id)
{
	return id ? &fixes[id] : NULL;
}
