/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rates of a cache between two looks at it, or since it was activated.
 */
#ifndef HEARTH_PLUGIN_RATES_H
#define HEARTH_PLUGIN_RATES_H

#include "cache-info.h"
#include "history.h"
#include "latency.h"

/* A device's requests.  Per second; NAN is not known. */
struct device_rates {
	double reads, writes;
	double read_bytes, write_bytes;
	double read_ms, write_ms;	/* means */
	double busy;			/* share of the time with requests under way */
	double depth;			/* mean number of requests under way */
	double request_bytes;		/* mean size */
};

struct rates {
	double seconds;			/* NAN: not known */
	struct device_rates volume, ssd, origin;
	double hits, read_hits, write_hits;	/* shares */
	double cut_reads, cut_writes;	/* a second, cut at the borders of blocks */
	double promotions, demotions, writebacks, bypasses;
	double ssd_written;		/* bytes a second, by the target */
	double mean_ms;			/* of all requests to the volume */
	struct latency latency[NR_CACHE_LATENCIES];	/* by the target */
};

/**
 * rates_since_activation() - the rates of a cache since it was activated
 * @c: the cache
 *
 * The age of its node below /dev tells when that was. The shares of hits are of the cache's
 * whole life, because the metadata keeps these counters.
 *
 * Return: the rates; NAN is not known, as all numbers a second are without the age.
 */
struct rates rates_since_activation(const struct cache_info *c);

/**
 * rates_between() - the rates of a cache between two looks
 * @was: the cache at the first look; NULL if it was not there
 * @then: when that was, in seconds as of now()
 * @c: the cache at the second look
 * @when: when that was, in seconds as of now()
 *
 * Return: the rates; all is NAN without @was, or if no time has passed, or if counters fell,
 * because the cache was loaded anew.
 */
struct rates rates_between(const struct cache_info *was, double then,
			   const struct cache_info *c, double when);

/**
 * rates_in() - the rates of a cache in a window
 * @c: the cache
 * @w: the window; without seconds all numbers a second are NAN, and the means are not
 *
 * Return: the rates; NAN is not known.
 */
struct rates rates_in(const struct cache_info *c, const struct window *w);

/* Lines that print_device_rates() prints. */
#define DEVICE_RATES_LINES	4

/**
 * print_device_rates() - print the requests of the volume and of its two devices as a table
 * @title: stands before the heads of the columns, at most 14 characters
 * @indent: blanks before each device's name
 * @r: the rates
 */
void print_device_rates(const char *title, unsigned int indent, const struct rates *r);

/**
 * json_rates_of_devices() - print the same as members of the object that is open
 * @r: the rates; null stands for NAN
 *
 * The keys are volume, cache_device and origin.
 */
void json_rates_of_devices(const struct rates *r);

#endif
