/* SPDX-License-Identifier: GPL-2.0-only */
/* Status lines and messages, see cache-status.c. */
#ifndef HEARTH_CACHE_STATUS_H
#define HEARTH_CACHE_STATUS_H

#include <linux/device-mapper.h>

/* The line that device-mapper asks for.  May sleep; with noflush for no commit. */
void cache_status(struct dm_target *ti, status_type_t type,
		  unsigned int flags, char *result, unsigned int maxlen);
/* A message, as words; 1: @result is to be shown.  May sleep. */
int cache_message(struct dm_target *ti, unsigned int argc, char **argv,
		  char *result, unsigned int maxlen);

#endif
