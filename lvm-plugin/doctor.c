// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth doctor: is this machine sound?  It calls the checks, prints their findings, and
 * with --fix runs the repairs that are no risk to data.
 *
 * It must not know what a check looks at, or what a repair does: doctor-*.c do.
 */
#include <stdlib.h>
#include <unistd.h>

#include "doctor.h"
#include "hearth.h"
#include "text.h"
#include "util.h"

static void print_all(bool json)
{
	if (!json) {
		print_findings(FINE);
		return;
	}
	json_begin(NULL, '{');
	json_findings("findings", FINE);
	json_end();
}

/* ---- For Nagios, Icinga and Checkmk ---- */

/* The exit codes by which a plugin tells these programs the state. */
enum plugin_code { PLUGIN_OK, PLUGIN_WARNING, PLUGIN_CRITICAL, PLUGIN_UNKNOWN };

/* A bar would begin the performance data of a plugin's output, so it becomes a slash. */
static void put_plain(const char *text)
{
	for (; *text; text++)
		putchar(*text == '|' ? '/' : *text);
}

/* All faults are on the first line, the worst first, because only that line is sent. */
static void put_faults(void)
{
	const struct finding *f;
	const char *before = ": ";
	unsigned int i;
	int level;

	for (level = PROBLEM; level >= WARNING; level--)
		for (i = 0; (f = finding_at(i)); i++) {
			if ((int)f->level != level)
				continue;
			fputs(before, stdout);
			put_plain(f->subject);
			fputs(": ", stdout);
			put_plain(f->text);
			before = "; ";
		}
	putchar('\n');
}

static void put_remedies(void)
{
	const struct finding *f;
	unsigned int i;

	for (i = 0; (f = finding_at(i)); i++) {
		if (f->level < WARNING || !f->remedy)
			continue;
		put_plain(f->subject);
		fputs(": ", stdout);
		put_plain(f->remedy);
		putchar('\n');
	}
}

/* @r: the exit code of the examination. */
static int tell_nagios(int r)
{
	static const char * const words[] = { "OK", "WARNING", "CRITICAL" };
	enum plugin_code code = any_finding(PROBLEM) ? PLUGIN_CRITICAL :
				any_finding(WARNING) ? PLUGIN_WARNING : PLUGIN_OK;

	if (r) {
		puts("HEARTH UNKNOWN: the caches cannot be examined");
		return PLUGIN_UNKNOWN;
	}
	printf("HEARTH %s", words[code]);
	if (code == PLUGIN_OK)
		puts(": no fault found");
	else
		put_faults();
	put_remedies();
	return code;
}

/* ---- --fix ---- */

static bool agreed(const struct finding *f, const struct options *o)
{
	fprintf(stderr, "%s: %s\n%s: ", f->subject, f->text, f->fix->what);
	if (o->yes) {
		fputs("yes\n", stderr);
		return true;
	}
	return user_agrees("do this?");
}

/* True if a repair was run.  @code becomes the exit code of the last repair that failed. */
static bool fix_what_can_be(const struct options *o, int *code)
{
	const struct finding *f;
	bool any = false;
	unsigned int i;

	for (i = 0; (f = finding_at(i)); i++) {
		if (!f->fix || !agreed(f, o))
			continue;
		any = true;
		*code = f->fix->run(f->subject) ?: *code;
	}
	return any;
}

/* ---- The subcommand ---- */

static int examine(void)
{
	struct caches cs;
	unsigned int i;
	bool no_dm;
	int r = caches_read_if_any(&cs, &no_dm);

	if (r)
		return r;
	forget_findings();
	if (no_dm)
		found(WARNING, "device-mapper", "system",
		      "'modprobe dm-mod'; LVM does it when it needs to",
		      "this kernel has no device-mapper: no volume of LVM is active");
	examine_system(&cs);
	examine_refused(&cs);
	for (i = 0; i < cs.nr; i++)
		examine_cache(&cs.all[i]);
	caches_free(&cs);
	return EXIT_OK;
}

static bool is_installed(const char *release)
{
	return !root_access(F_OK, "/lib/modules/%s", release);
}

/* The hooks of kernel packages call this, by --kernel. */
static int examine_kernel(const struct options *o)
{
	struct caches cs;
	unsigned int i;
	bool no_dm;
	int r;

	if (!is_installed(o->kernel)) {
		complain("%s: no such kernel is installed", o->kernel);
		return EXIT_USAGE;
	}
	r = caches_read_if_any(&cs, &no_dm);
	if (r)
		return r;
	for (i = 0; i < cs.nr; i++) {
		examine_status(&cs.all[i]);
		examine_log_on_kernel(&cs.all[i], o->kernel);
	}
	caches_free(&cs);
	if (!finding_at(0) && o->quiet)
		return EXIT_OK;
	if (!finding_at(0))
		found(FINE, "kernel", "system", NULL,
		      "kernel %s would open all active caches", o->kernel);
	print_all(o->json);
	return any_finding(WARNING) ? EXIT_FINDINGS : EXIT_OK;
}

static bool options_agree(const struct options *o)
{
	if (o->yes && !o->fix)
		complain("--yes goes with --fix");
	else if (o->quiet && !o->kernel)
		complain("--quiet goes with --kernel");
	else if (o->nagios && (o->fix || o->json))
		complain("--nagios goes without --fix and --json");
	else if (o->kernel && (o->fix || o->nagios))
		complain("--kernel goes without --fix and --nagios");
	else
		return true;
	return false;
}

int hearth_doctor(const struct options *o)
{
	int r, failed = EXIT_OK;

	if (!options_agree(o))
		return EXIT_USAGE;
	if (o->kernel)
		return examine_kernel(o);
	r = examine();
	if (o->nagios)
		return tell_nagios(r);
	if (r)
		return r;
	/* After a repair the report and the exit code tell what is left to do. */
	if (o->fix && fix_what_can_be(o, &failed))
		r = examine();
	if (r)
		return r;
	print_all(o->json);
	if (failed)
		return failed;
	return any_finding(WARNING) ? EXIT_FINDINGS : EXIT_OK;
}
