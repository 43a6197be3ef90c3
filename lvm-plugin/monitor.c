// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth monitor: shows which caches dmeventd watches, and has it begin or end to watch
 * one.
 *
 * It must not know what dmeventd watches for: dmeventd/plugin.c does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hearth.h"
#include "monitor.h"
#include "text.h"

static unsigned int read_interval(void)
{
	struct monitor_conf conf;
	unsigned int bad = monitor_read_the_conf(&conf);

	if (bad)
		complain("note: " MONITOR_CONF ": line %u makes no sense", bad);
	return conf.interval;
}

static int explain(const char *name, int r)
{
	switch (r) {
	case 0:
		return EXIT_OK;
	case -ENODATA:
		complain("%s: dmeventd watches only devices that have a UUID (dmsetup create --uuid)",
			 name);
		break;
	case -ENOENT:
		complain("%s: the plugin is not installed: libdevmapper-event-hearth.so",
			 name);
		break;
	case -EHOSTDOWN:
		complain("%s: dmeventd does not run; 'systemctl enable --now dm-event.socket' has it started when it is needed",
			 name);
		break;
	default:
		complain("%s: dmeventd: %s", name,
			 dm_error()[0] ? dm_error() : strerror(-r));
	}
	return EXIT_FAILED;
}

static int change(const struct cache_info *c, const struct options *o)
{
	bool is = dm_monitored(c->dm);

	/* Registration begins anew, because the interval may have been changed. */
	if (is) {
		int r = dm_monitor(c->dm, 0);

		if (r)
			return explain(c->name, r);
	}
	if (o->unregister)
		return EXIT_OK;
	return explain(c->name, dm_monitor(c->dm, read_interval()));
}

static void show(const struct cache_info *c, bool json)
{
	bool is = dm_monitored(c->dm);

	if (json) {
		json_begin(NULL, '{');
		json_string("name", c->name);
		json_bool("monitored", is);
		json_end();
		return;
	}
	printf("%s: %s\n", c->name, is ? "monitored" : "not monitored");
}

static int all(struct cache_info *c, unsigned int nr, const struct options *o)
{
	int r = EXIT_OK, worst = EXIT_OK;
	unsigned int i;

	for (i = 0; (o->enlist || o->unregister) && i < nr; i++) {
		r = change(&c[i], o);
		worst = r ? r : worst;
	}
	if (o->json) {
		json_begin(NULL, '{');
		json_begin("caches", '[');
	}
	for (i = 0; i < nr; i++)
		show(&c[i], o->json);
	if (o->json) {
		json_end();
		json_end();
	} else if (!nr) {
		puts("no cache is active");
	}
	return worst;
}

/*
 * udev's rule calls this for each change of any device.  It prints nothing but failures,
 * leaves a cache alone that dmeventd watches already, and looks at no other device.  If the
 * device is no cache any more, it ends the watching.
 */
static int quietly(const char *name)
{
	struct dm_device d;
	int r = dm_look(name, &d), is;

	/* The device may be gone by now, which is no failure. */
	if (r == -ENXIO)
		return EXIT_OK;
	if (r && r != -ENOENT)
		return caches_explain(r);
	is = dm_monitored(&d);
	if (!r && !is)
		r = dm_monitor(&d, read_interval());
	else if (r && is)
		r = dm_monitor(&d, 0);
	else
		r = 0;
	free(d.table);
	free(d.status);
	/* A cache made by hand may have no UUID, and udev cannot help that. */
	return r == -ENODATA ? EXIT_OK : explain(name, r);
}

int hearth_monitor(const struct options *o)
{
	struct caches cs;
	struct cache_info *c;
	int r;

	if (o->enlist && o->unregister) {
		complain("--register and --unregister exclude each other");
		return EXIT_USAGE;
	}
	if (o->quiet) {
		if (o->enlist && o->nr_args)
			return quietly(o->args[0]);
		complain("--quiet goes with --register and a device-mapper name");
		return EXIT_USAGE;
	}
	if (o->nr_args) {
		r = caches_get(&cs, o->args[0], &c);
		if (r)
			return r;
		r = all(c, 1, o);
	} else {
		r = caches_read(&cs);
		if (r)
			return r;
		r = all(cs.all, cs.nr, o);
	}
	caches_free(&cs);
	return r;
}
