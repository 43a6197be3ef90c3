// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asks dmeventd, through libdevmapper-event, whether it watches a cache with hearth's
 * plugin, and tells it to begin or to end that.
 *
 * It must not know what the plugin looks for.
 */
#include <errno.h>
#include <libdevmapper.h>
#include <libdevmapper-event.h>
#include <unistd.h>

#include "dm.h"

#define PLUGIN		"/usr/lib/hearth/libdevmapper-event-hearth.so"
#define RUNNING		"/run/dmeventd.pid"
#define SERVER		"/run/dmeventd-server"
#define SYSTEMD		"/run/systemd/system"

static struct dm_event_handler *handler(const struct dm_device *d)
{
	struct dm_event_handler *h = dm_event_handler_create();

	if (h && !dm_event_handler_set_dso(h, PLUGIN) &&
	    !dm_event_handler_set_uuid(h, d->uuid)) {
		dm_event_handler_set_event_mask(h, DM_EVENT_ALL_ERRORS |
						   DM_EVENT_TIMEOUT);
		return h;
	}
	if (h)
		dm_event_handler_destroy(h);
	return NULL;
}

/*
 * May libdevmapper-event be asked?  If the daemon does not run, libdevmapper-event starts it
 * as a child of this command.  Under systemd only the socket may start it, because udev runs
 * this command and kills its children after some time.
 */
static bool may_ask(bool start)
{
	if (!access(RUNNING, F_OK))
		return true;
	return start && (access(SYSTEMD, F_OK) || !access(SERVER, F_OK));
}

bool dm_monitored(const struct dm_device *d)
{
	struct dm_event_handler *h;
	bool is = false;

	if (!d->uuid[0] || !may_ask(false))
		return false;
	dm_quiet();
	h = handler(d);
	if (!h)
		return false;
	is = !dm_event_get_registered_device(h, 0) &&
	     dm_event_handler_get_event_mask(h) & DM_EVENT_TIMEOUT;
	dm_event_handler_destroy(h);
	return is;
}

int dm_monitor(const struct dm_device *d, unsigned int seconds)
{
	struct dm_event_handler *h;
	bool ok;

	if (!d->uuid[0])
		return -ENODATA;
	if (access(PLUGIN, F_OK))
		return -ENOENT;
	if (!may_ask(seconds))
		return seconds ? -EHOSTDOWN : 0;
	dm_quiet();
	h = handler(d);
	if (!h)
		return -ENOMEM;
	dm_event_handler_set_timeout(h, seconds);
	ok = seconds ? dm_event_register_handler(h) :
		       dm_event_unregister_handler(h);
	dm_event_handler_destroy(h);
	return ok ? 0 : -EIO;
}
