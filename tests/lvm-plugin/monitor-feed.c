// SPDX-License-Identifier: GPL-2.0-only
/*
 * Feeds status lines to the rules of dmeventd's plugin.
 *
 * Usage: monitor-feed CONF.  Each line of stdin is "SECONDS|STATUS|STATS".  STATS is
 * the answer to the message stats, with ";" for its newlines, or nothing.  The
 * program prints each notice as a line "SECONDS CONDITION begins|over TEXT".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "monitor.h"

const char *dm_root(void)
{
	return "";
}

static void feed(struct monitor *m, const struct monitor_conf *conf, char *line)
{
	struct notice notices[NR_CONDITIONS];
	char *status = strchr(line, '|'), *stats, *s;
	unsigned int i, nr;
	struct cache_info c = { 0 };

	if (!status || !(stats = strchr(status + 1, '|')))
		abort();
	*status++ = '\0';
	*stats++ = '\0';
	for (s = stats; *s; s++)
		if (*s == ';')
			*s = '\n';
	if (!cache_parse_status(&c, status)) {
		printf("%s unreadable\n", line);
		return;
	}
	cache_parse_stats(&c, stats);
	nr = monitor_look(m, conf, &c, strtod(line, NULL), notices);
	for (i = 0; i < nr; i++)
		printf("%s %s %s %s\n", line,
		       condition_name(notices[i].condition),
		       notices[i].over ? "over" : "begins", notices[i].text);
}

int main(int argc, char **argv)
{
	struct monitor m = { 0 };
	struct monitor_conf conf;
	char line[4096];
	unsigned int bad;

	if (argc != 2)
		return 2;
	bad = monitor_read_conf(&conf, argv[1]);
	printf("conf %u: %u %u %u %u %u %u '%s'\n", bad, conf.interval,
	       conf.metadata_percent, conf.dirty_percent, conf.dirty_seconds,
	       conf.hits_percent, conf.hits_seconds, conf.command);
	while (fgets(line, sizeof(line), stdin))
		feed(&m, &conf, line);
	return 0;
}
