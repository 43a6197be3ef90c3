/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rates of a cache between two looks at it, or since it was activated.  It must not keep
 * anything from look to look.
 */
#ifndef HEARTH_PLUGIN_RATES_H
#define HEARTH_PLUGIN_RATES_H

#include "cache-info.h"
#include "history.h"
#include "latency.h"

/* A device's requests.  A number that is not known is NAN. */
struct device_rates {
	double reads, writes;		/* requests a second */
	double read_bytes, write_bytes;	/* bytes a second */
	double read_ms, write_ms;	/* mean milliseconds of a request */
	double busy;			/* share of the time with requests under way, 0 to 1 */
	double depth;			/* mean number of requests under way */
	double request_bytes;		/* mean bytes of a request */
};

/* A number that is not known is NAN. */
struct rates {
	double seconds;
	struct device_rates volume, ssd, origin;
	double hits, read_hits, write_hits;	/* shares, 0 to 1 */
	double cut_reads, cut_writes;	/* requests a second, cut at the borders of blocks */
	double promotions, demotions, writebacks, bypasses;	/* a second */
	double ssd_written;		/* bytes a second that the target wrote */
	double mean_ms;			/* milliseconds of a request to the volume */
	struct latency latency[NR_CACHE_LATENCIES];	/* as the target timed requests */
};

/**
 * rates_since_activation() - the rates of a cache since it was activated
 * @c: the cache
 *
 * The age of its node below /dev tells when that was. The shares of hits are those of the
 * cache's whole life, because the metadata keeps these counters. So cut_reads and cut_writes
 * are NAN. If the age is not known, all numbers a second are NAN.
 *
 * Return: the rates.
 */
struct rates rates_since_activation(const struct cache_info *c);

/**
 * rates_between() - the rates of a cache between two looks
 * @was: the cache at the first look; NULL if it was not there
 * @then: the time of the first look, in seconds as of now()
 * @c: the cache at the second look
 * @when: the time of the second look, in seconds as of now()
 *
 * Return: the rates; all are NAN without @was, or if no time has passed, or if a counter fell,
 * because the cache was loaded anew.
 */
struct rates rates_between(const struct cache_info *was, double then,
			   const struct cache_info *c, double when);

/**
 * rates_in() - the rates of a cache in a window
 * @c: the cache
 * @w: the window; if its seconds are 0, all numbers a second are NAN, but means and shares are
 *	known
 *
 * Return: the rates.
 */
struct rates rates_in(const struct cache_info *c, const struct window *w);

/* The number of lines that print_device_rates() prints. */
#define DEVICE_RATES_LINES	4

/**
 * print_device_rates() - print the requests of the volume and of its two devices as a table
 * @title: stands before the headings of the columns, at most 15 characters
 * @indent: the number of blanks before each device's name
 * @r: the rates
 */
void print_device_rates(const char *title, unsigned int indent, const struct rates *r);

/**
 * json_rates_of_devices() - print the same rates as members of the JSON object that is open
 * @r: the rates; NAN is printed as null
 *
 * The keys are volume, cache_device and origin.
 */
void json_rates_of_devices(const struct rates *r);

#endif
