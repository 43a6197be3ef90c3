// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth doctor: the checks of the machine: the modules, the initramfs, the versions of
 * the tools, and the devices of / and /boot.
 *
 * It must not print or mend: findings.c prints, doctor-fix.c mends.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor.h"
#include "hearth.h"
#include "kernels.h"
#include "lvm.h"
#include "sysfs.h"

/* ---- Modules ---- */

/*
 * Has make install or DKMS put dm-cache.ko on the disk?  Modprobe loads it only if
 * modules.dep has it, too.
 */
static bool is_on_disk(void)
{
	static const char * const where[] = { "updates", "updates/dkms", "extra" };
	static const char * const ends[] = { "", ".xz", ".zst", ".gz" };
	unsigned int i;

	for (i = 0; i < 12; i++)
		if (!root_access(F_OK, "/lib/modules/%s/%s/dm-cache.ko%s",
				 kernel_release(), where[i / 4], ends[i % 4]))
			return true;
	return false;
}

/* An upgrade replaces the commands at once, but the former module stays loaded. */
static void examine_version(void)
{
	FILE *f = root_open("/sys/module/dm_cache/version");
	char version[32] = "";

	if (!f)
		return;
	if (fscanf(f, "%31s", version) == 1 && strcmp(version, HEARTH_VERSION))
		found(WARNING, "module-version", "system",
		      "restart, or deactivate all cached volumes and 'modprobe -r dm-cache-smq dm-cache'",
		      "hearth %s is loaded, and the commands are those of hearth %s",
		      version, HEARTH_VERSION);
	fclose(f);
}

static void examine_modules(const struct caches *cs)
{
	static const char install[] =
		"'make install' in hearth's sources, or its DKMS package; then 'depmod -a'";
	static const char reload[] =
		"deactivate all cached volumes and 'modprobe -r dm-cache-smq dm-cache', or restart; if it comes from the initramfs, build that anew first";
	enum where core = module_of(kernel_release(), "dm-cache");
	enum where smq = module_of(kernel_release(), "dm-cache-smq");
	uint32_t v[3];
	enum where loaded = dm_cache_version(v) ? NOWHERE :
			    v[0] == 2 && v[1] >= 100 ? OURS : STOCK;

	if (core != OURS && is_on_disk()) {
		found(PROBLEM, "modules-dep", "system", "'depmod -a'",
		      "hearth's modules are there, but modprobe does not know of them");
		fixable(fix_of(FIX_DEPMOD));
		return;
	}
	if (core != smq)
		found(PROBLEM, "modules-mixed", "system", install,
		      "dm-cache and dm-cache-smq of kernel %s are not from the same source",
		      kernel_release());
	if (loaded == STOCK && core == OURS) {
		found(PROBLEM, "module-loaded", "system", reload,
		      "hearth is installed, but the kernel's own target is loaded");
		if (!cs->nr)
			fixable(fix_of(FIX_RELOAD));
	} else if (loaded == STOCK || (loaded == NOWHERE && core != OURS))
		found(WARNING, "module-installed", "system", install,
		      "hearth is not installed for kernel %s", kernel_release());
	else if (core != OURS)
		found(PROBLEM, "module-installed", "system", install,
		      "hearth is loaded, but not installed for kernel %s: after a restart the kernel's own target runs",
		      kernel_release());
	else
		found(FINE, "module-installed", "system", NULL,
		      "hearth %s for kernel %s",
		      loaded == OURS ? "is loaded" : "will be loaded",
		      kernel_release());
	if (loaded == OURS)
		examine_version();
}

/* ---- Mounts ---- */

/*
 * Btrfs gives its mounts a number of its own, with the major number 0.  The source of the
 * mount, behind the optional fields, is one of its devices.
 */
static void take_source(const char *line, struct device *d)
{
	const char *fields = strstr(line, " - ");
	char source[256];
	uint64_t bytes;

	if (fields && sscanf(fields, " - %*s %255s", source) == 1 && source[0] == '/')
		dm_block_device(source, &d->major, &d->minor, &bytes);
}

/* Finds the device that is mounted at @where.  False if none is. */
static bool mounted(const char *where, struct device *d)
{
	FILE *f = root_open("/proc/self/mountinfo");
	char *line = NULL, point[256];
	struct device here;
	bool hit = false;
	size_t room = 0;

	while (f && getline(&line, &room, f) > 0) {
		if (sscanf(line, "%*d %*d %u:%u %*s %255s", &here.major,
			   &here.minor, point) != 3 || strcmp(point, where))
			continue;
		if (!here.major)
			take_source(line, &here);
		*d = here;
		hit = true;
	}
	free(line);
	if (f)
		fclose(f);
	return hit;
}

/* The cache that @d is, or that it stands on; NULL if there is none. */
static const struct cache_info *cache_below(const struct caches *cs, struct device d)
{
	unsigned int i;

	for (i = 0; i < cs->nr; i++) {
		const struct device c = {
			cs->all[i].dm->major, cs->all[i].dm->minor
		};

		if (stands_on(d, c))
			return &cs->all[i];
	}
	return NULL;
}

/* ---- The initramfs ---- */

/* The initramfs of a kernel; NULL if there is none. The caller frees it. */
static char *image_of(const char *release)
{
	static const char * const formats[] = {
		"/boot/initrd.img-%s", "/boot/initramfs-%s.img", "/boot/initrd-%s",
	};
	unsigned int i;

	for (i = 0; i < 3; i++) {
		char *path = root_path(formats[i], release);

		if (!access(path, F_OK))
			return path;
		free(path);
	}
	return NULL;
}

/*
 * Finds which dm-cache an image holds.  If it holds two, modprobe takes the one outside of
 * kernel/, as it does on the disk.  0; -1 if the image cannot be listed.
 */
static int in_image(const char *path, enum where *w, bool *by_dracut)
{
	const char *const debian[] = { "lsinitramfs", path, NULL };
	const char *const dracut[] = { "lsinitrd", path, NULL };
	char *text = command_text(debian);
	char *line, *save = NULL, *name;

	*w = NOWHERE;
	*by_dracut = !text;
	if (!text)
		text = command_text(dracut);
	if (!text)
		return -1;
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		name = strstr(line, "/dm-cache.ko");
		if (!name)
			continue;
		if (!strstr(line, "/kernel/drivers/"))
			*w = OURS;
		else if (*w == NOWHERE)
			*w = STOCK;
	}
	free(text);
	return 0;
}

/* Only with hearth's hook would a new image hold hearth's module. */
static void rebuild_if_possible(bool by_dracut)
{
	const char *hook = by_dracut ? "lib/dracut/modules.d/90hearth/module-setup.sh" :
				       "share/initramfs-tools/hooks/hearth";

	if (!root_access(X_OK, "/usr/%s", hook))
		fixable(fix_of(by_dracut ? FIX_DRACUT : FIX_INITRAMFS_TOOLS));
}

static bool is_older_than_module(const char *path, const char *release)
{
	struct stat st;

	return !stat(path, &st) && st.st_mtime < module_time(release, "dm-cache");
}

/* Examines the image of the running kernel. */
static void examine_initramfs(const struct cache_info *root, const char *path)
{
	static const char rebuild[] =
		"'update-initramfs -u' or 'dracut --force', with hearth's hook installed";
	bool by_dracut;
	enum where w;

	if (in_image(path, &w, &by_dracut)) {
		found(NOTE, "initramfs", "system", NULL,
		      "%s cannot be listed: neither lsinitramfs nor lsinitrd works",
		      path);
		return;
	}
	if (w == OURS && !is_older_than_module(path, kernel_release())) {
		found(FINE, "initramfs", "system", NULL, "%s holds hearth",
		      path);
		return;
	}
	if (w == NOWHERE)
		found(PROBLEM, "initramfs", "system", rebuild,
		      "/ is on the cache %s, and %s holds no dm-cache: the machine will not start",
		      root->name, path);
	else if (w == STOCK)
		found(WARNING, "initramfs", "system", rebuild,
		      "/ is on the cache %s, and %s holds the kernel's own dm-cache",
		      root->name, path);
	else
		found(WARNING, "initramfs", "system", rebuild,
		      "/ is on the cache %s, and %s is older than hearth's module: the machine starts with the hearth that was installed before",
		      root->name, path);
	rebuild_if_possible(by_dracut);
}

/*
 * Examines the image of another kernel.  An image with the kernel's own dm-cache is a fault
 * only if hearth is installed for that kernel.
 */
static void examine_other_initramfs(const struct cache_info *root, const char *release,
				    const char *path)
{
	static const char rebuild[] =
		"'update-initramfs -u -k all' or 'dracut --force --regenerate-all', with hearth's hook installed";
	bool by_dracut, installed = module_of(release, "dm-cache") == OURS;
	enum where w;

	if (in_image(path, &w, &by_dracut))
		return;
	if (w == NOWHERE)
		found(WARNING, "initramfs", release, rebuild,
		      "/ is on the cache %s, and %s holds no dm-cache: this kernel will not start",
		      root->name, path);
	else if (w == STOCK && installed)
		found(WARNING, "initramfs", release, rebuild,
		      "%s holds the kernel's own dm-cache, but hearth is installed for this kernel",
		      path);
	else if (w == OURS && is_older_than_module(path, release))
		found(WARNING, "initramfs", release, rebuild,
		      "%s is older than hearth's module for this kernel", path);
	else
		return;
	rebuild_if_possible(by_dracut);
}

static void examine_initramfs_of_all(const struct cache_info *root)
{
	static char releases[MAX_KERNELS][RELEASE_LEN];
	unsigned int i, nr = kernels_installed(releases);
	char *path = image_of(kernel_release());

	if (path)
		examine_initramfs(root, path);
	else
		found(WARNING, "initramfs", "system", NULL,
		      "/ is on the cache %s, and no initramfs of kernel %s is found in /boot",
		      root->name, kernel_release());
	free(path);
	for (i = 0; i < nr; i++) {
		path = strcmp(releases[i], kernel_release()) ? image_of(releases[i]) : NULL;
		if (path)
			examine_other_initramfs(root, releases[i], path);
		free(path);
	}
}

static void examine_mounts(const struct caches *cs)
{
	const struct cache_info *root = NULL, *boot = NULL;
	struct device d;

	if (mounted("/", &d))
		root = cache_below(cs, d);
	boot = mounted("/boot", &d) ? cache_below(cs, d) : root;
	if (boot)
		found(PROBLEM, "boot", "system",
		      "give /boot a partition or a volume of its own that is not cached",
		      "/boot is on the cache %s, which boot loaders cannot read",
		      boot->name);
	if (!root)
		return;
	examine_initramfs_of_all(root);
	/* Its policy is not known. */
	if (!cache_understood(root))
		return;
	if (strcmp(root->policy, "smq") && strcmp(root->policy, "mq")) {
		found(WARNING, "root-policy", root->name,
		      "'hearth set CACHE policy=smq', which is the same policy as heat by a name that every kernel knows",
		      "/ is on it, and without hearth no kernel opens the policy %s",
		      root->policy);
		if (root->vg[0])
			fixable(fix_of(FIX_POLICY));
	}
}

/* ---- Tools ---- */

static bool any_of_format_2(const struct caches *cs)
{
	unsigned int i;

	for (i = 0; i < cs->nr; i++)
		if (cs->all[i].format == 2 && cache_writes_back(&cs->all[i]))
			return true;
	return false;
}

enum repair { REPAIR_OURS, REPAIR_OFF, REPAIR_OTHER };

/* The program with which LVM repairs a cache's metadata, by LVM's configuration. */
static enum repair configured_repair(void)
{
	const char *const argv[] = {
		"lvmconfig", "--type", "full", "global/cache_repair_executable",
		NULL
	};
	char line[300];

	if (command_output(argv, line, sizeof(line)))
		return REPAIR_OTHER;
	if (strstr(line, "/hearth-cache-repair\""))
		return REPAIR_OURS;
	return strstr(line, "/false\"") || strstr(line, "\"\"") ?
	       REPAIR_OFF : REPAIR_OTHER;
}

/* @version is that of cache_check; cache_repair comes with it, and has the same version. */
static void examine_cache_repair(const struct caches *cs, const char *version,
				 bool loses_dirty)
{
	static const char configure[] =
		"global/cache_repair_executable = \"" HEARTH_REPAIR "\" in LVM's lvmlocal.conf";
	enum repair repair = configured_repair();

	if (repair == REPAIR_OURS) {
		found(FINE, "cache-repair", "system", NULL,
		      "LVM repairs metadata with hearth-cache-repair");
		return;
	}
	if (repair == REPAIR_OFF)
		found(NOTE, "cache-repair", "system", configure,
		      "LVM is configured not to repair metadata");
	else if (loses_dirty && any_of_format_2(cs))
		found(WARNING, "cache-repair", "system", configure,
		      "cache_repair %s takes every block of metadata format 2 for clean: dirty blocks would be lost",
		      version);
	else
		return;
	if (!root_access(X_OK, HEARTH_REPAIR))
		fixable(fix_of(FIX_REPAIR));
}

static void examine_cache_check(const struct caches *cs)
{
	static const char install[] =
		"install thin-provisioning-tools; on a cached root, build the initramfs anew";
	const char *const argv[] = { "cache_check", "-V", NULL };
	char version[128];
	unsigned int major;

	if (command_output(argv, version, sizeof(version))) {
		found(WARNING, "cache-check", "system", install,
		      "no cache_check: lvm2 activates caches unchecked");
		return;
	}
	if (sscanf(version, "%*[^0-9]%u", &major) != 1 &&
	    sscanf(version, "%u", &major) != 1)
		major = 1;
	found(FINE, "cache-check", "system", NULL, "cache_check %s", version);
	examine_cache_repair(cs, version, major < 1);
}

/* lvm prints "  LVM version:     2.03.16(2) (2022-05-18)". */
static void examine_lvm(const struct caches *cs)
{
	const char *const argv[] = { "lvm", "version", NULL };
	unsigned int major, minor, patch, i;
	char line[128];

	if (command_output(argv, line, sizeof(line)) ||
	    sscanf(line, " LVM version: %u.%u.%u", &major, &minor,
		   &patch) != 3) {
		found(NOTE, "lvm", "system", NULL, "lvm2 is not installed");
		return;
	}
	found(FINE, "lvm", "system", NULL, "lvm2 %u.%02u.%02u", major, minor,
	      patch);
	for (i = 0; i < cs->nr; i++)
		if (cs->all[i].vg[0] && !strcmp(cs->all[i].policy, "mq") &&
		    minor == 3 && patch < 40)
			found(NOTE, "lvm-cachevol", cs->all[i].name, NULL,
			      "lvm2 before 2.03.40 calls every policy of a --cachevol mq, and cannot change it; use a --cachepool to choose one");
}

void examine_system(const struct caches *cs)
{
	examine_modules(cs);
	examine_mounts(cs);
	examine_cache_check(cs);
	examine_lvm(cs);
}
