// SPDX-License-Identifier: GPL-2.0-only
/*
 * It alone runs smartctl, and reads its JSON.  It must not judge what a disk says.
 */
#include <json-c/json.h>
#include <stdlib.h>

#include "lvm.h"
#include "smart.h"

/* Two bits of smartctl's exit code: the command line is wrong, or the disk cannot be opened. */
#define SAID_NOTHING	3

static int64_t number(json_object *log, const char *key, int64_t otherwise)
{
	json_object *value;

	return json_object_object_get_ex(log, key, &value) ?
	       json_object_get_int64(value) : otherwise;
}

static void take(struct smart *s, json_object *all)
{
	json_object *status = NULL, *passed, *log = NULL;

	json_object_object_get_ex(all, "smart_status", &status);
	json_object_object_get_ex(all, "nvme_smart_health_information_log", &log);
	s->fails = (json_object_object_get_ex(status, "passed", &passed) &&
		    !json_object_get_boolean(passed)) ||
		   number(log, "critical_warning", 0);
	s->used = number(log, "percentage_used", 0);
	s->spare = number(log, "available_spare", 100);
	s->least_spare = number(log, "available_spare_threshold", -1);
}

bool smart_read(struct smart *s, const char *disk)
{
	const char *const argv[] = { "smartctl", "--json", "-a", "--", disk, NULL };
	json_object *all = NULL;
	int code;

	/* Other bits of the code say that the disk fails, and then the JSON is whole. */
	s->text = command_said(argv, &code);
	if (s->text && !(code & SAID_NOTHING))
		all = json_tokener_parse(s->text);
	if (!json_object_is_type(all, json_type_object)) {
		json_object_put(all);
		free(s->text);
		return false;
	}
	take(s, all);
	json_object_put(all);
	return true;
}
