/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power cuts: the declarations that the parts of the program share.  README.md
 * says how the parts work together.
 */
#ifndef CRASH_H
#define CRASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "crashlog.h"

#define SECTOR		512u
#define NEVER		UINT32_MAX
#define MAX_SLOTS	1024u

void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...);

/* ---- Random numbers: a seed decides every choice ---- */

struct rng {
	uint64_t state;
};

uint64_t mix64(uint64_t x);
uint64_t rng_next(struct rng *r);
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)((rng_next(r) >> 32) * n >> 32);
}

/*
 * A set of chunks of a disk, by number.  The disk's memory may differ from the
 * base only there.  A cut changes few chunks, and to copy the whole disk would
 * take longer than everything else.
 */
#define CHUNK 32u		/* sectors */
struct chunks {
	uint8_t *set;
	uint32_t nr;
};

/* ---- log.c: the recording, as requests in the order of completion ---- */

struct op {
	enum crash_kind kind;
	bool fua;
	uint64_t sector;
	uint32_t sectors;
	const uint8_t *data;
	uint32_t submit;	/* number of events before it */
	uint32_t done;		/* NEVER: in flight at the end, or failed */
};

struct mark {
	uint32_t event;
	uint64_t number;
};

struct log {
	struct op *ops[NR_RECORDED];	/* by completion; not done: last */
	uint32_t nr_ops[NR_RECORDED];
	struct mark *marks;
	uint32_t nr_marks;
	uint32_t nr_events;
	/*
	 * Events that concern the metadata device; half of the cuts are near
	 * one.
	 */
	uint32_t *meta_events;
	uint32_t nr_meta_events;
};

/* Marks what the log has written to the disks from offset @begin on. */
void log_mark_chunks(const struct crash_head *head, uint64_t begin,
		     struct chunks *changed);
/* Reads the log from offset @begin on. */
void log_read(struct log *log, const struct crash_head *head, uint64_t begin);
void log_free(struct log *log);

/* ---- state.c: the disks at a cut ---- */

/*
 * The base of a disk at @cut is what is certainly on it.  The window is the set
 * of later requests: each was submitted, and may or may not be on the disk.
 */
struct disk_image {
	uint8_t *data;
	uint64_t sectors;
	uint32_t next;		/* index of the first op that is not in data */
};

/* The possible content of each sector of the top, by the user's requests. */
struct replay {
	const struct log *log;
	uint32_t cut;		/* events before it have happened */
	struct disk_image disk[NR_DISKS];
	struct disk_image top;
	uint8_t *unknown;	/* by sector: discarded, may be anything */
	uint32_t block_sectors;	/* discards reach the origin in whole blocks */
	uint64_t origin_sectors;
	bool passdown;
	bool nothing_volatile;	/* the disks need no flush to keep what is done */
};

void chunks_mark(struct chunks *c, uint64_t sector, uint32_t sectors);
/*
 * Goes on to @cut, which must not be before the last one; @changed has one set
 * for each disk.
 */
void replay_advance(struct replay *r, uint32_t cut, struct chunks *changed);
/*
 * Applies to @to, the disk's memory with the base in it, what survives of the
 * window.
 */
void replay_survivors(struct replay *r, int disk, uint8_t *to,
		      struct chunks *changed, struct rng *rng);
/*
 * Compares @have, the whole top, with what may be there.  Prints a few faults,
 * and returns how many there are.
 */
uint64_t replay_check_top(struct replay *r, const uint8_t *have,
			  uint64_t sectors, const char *when);
void print_sector(const char *what, const uint8_t *data);

/* ---- metadata.c: what the metadata on a disk says ---- */

struct meta_view {
	bool formatted;
	bool clean;		/* CLEAN_SHUTDOWN */
	bool write_log;		/* a write log is in use */
	uint32_t nr_segments;	/* of it; set by log_lay_over() */
	unsigned int format;
	uint32_t block_sectors;
	uint32_t nr_slots;
	uint32_t nr_mapped;
	uint32_t nr_dirty;
	uint64_t oblock[MAX_SLOTS];	/* UINT64_MAX: unmapped */
	bool dirty[MAX_SLOTS];
};

/*
 * Reads and verifies the metadata.  Prints what is wrong, and then returns
 * false.
 */
bool meta_read(struct meta_view *v, const uint8_t *meta, uint64_t sectors);
/* Composes in @to the first @sectors as the metadata caches them. */
void meta_compose(const struct meta_view *v, const uint8_t *fast,
		  const uint8_t *origin, uint8_t *to, uint64_t sectors);
/*
 * Returns how many clean blocks (or with @dirty, dirty ones) have two different
 * copies.
 */
uint32_t meta_unequal(const struct meta_view *v, const uint8_t *fast,
		      const uint8_t *origin, uint64_t origin_sectors, bool dirty);

/* ---- writelog.c: what the write log on the disks says ---- */

/*
 * Reads the write log, for which @v has the flag, and lays its extents over @to,
 * which meta_compose() has made.  Prints what is wrong, and then returns false.
 */
bool log_lay_over(struct meta_view *v, const uint8_t *meta, uint64_t meta_sectors,
		  const uint8_t *fast, uint64_t fast_sectors, uint8_t *to,
		  uint64_t sectors);
/*
 * As hearth-metadata settle: all of the log goes to @origin, and the flag is cleared.
 * All three change.
 */
bool log_goes_home(uint8_t *meta, uint64_t meta_sectors, uint8_t *fast,
		   uint64_t fast_sectors, uint8_t *origin, uint64_t origin_sectors);

/* ---- dm.c: device-mapper ---- */

struct dm_dev {
	const char *name;
	char number[16];	/* major:minor */
	char node[32];
};

void dm_open(void);
void dm_create(struct dm_dev *d, const char *name);
/* Returns 0 or a negative errno. */
int dm_load(struct dm_dev *d, uint64_t sectors, const char *type,
	    const char *params);
int dm_suspend(struct dm_dev *d);
int dm_resume(struct dm_dev *d);
void dm_remove(struct dm_dev *d);
int dm_message(struct dm_dev *d, const char *message);
/* Sends the message stats, and returns its answer, which the caller frees. */
char *dm_stats(struct dm_dev *d);
void dm_status(struct dm_dev *d, char *status, size_t len);

/* ---- world.c: the devices, and the table that the cache has ---- */

struct config {
	char mode[16];
	char policy[160];
	uint32_t format;
	uint32_t block_sectors;
	uint64_t fast_sectors;
	uint64_t origin_sectors;
	uint32_t passdown;
};

#define MAX_CONFIGS 64

struct world {
	struct crash_head *head;
	uint8_t *memory[NR_DISKS];
	struct dm_dev disk[NR_DISKS], cache, top;
	struct config now;	/* sizes of the disks and of the top */
	int control;
};

extern const char *const disk_names[NR_DISKS];

void world_open(struct world *w);
void world_close(struct world *w);
/* Gives the devices the sizes of @c; the cache has no table afterwards. */
void world_sizes(struct world *w, const struct config *c);
/*
 * Returns how long the activation took, in microseconds, or a negative errno.
 */
int64_t world_activate(struct world *w, const struct config *c);
/* Stops the cache cleanly.  Its device stays, and returns errors. */
void world_deactivate(struct world *w);
/* Changes from one table to another while the load runs. */
int world_change(struct world *w, const struct config *c);
void world_mark(struct world *w, uint64_t number);
/* Reads the whole cache. */
void world_read(struct world *w, uint8_t *to, uint64_t sectors);
struct cache_counts {
	uint32_t resident, dirty, demotions, promotions;
	bool writable;
};
void world_counts(struct world *w, struct cache_counts *c);
void world_delays(struct world *w, uint32_t meta, uint32_t fast, uint32_t origin);
bool world_wait_clean(struct world *w, unsigned int seconds);
/* Waits until writes are absorbed. */
bool world_wait_log(struct world *w, unsigned int seconds);

/* ---- record.c: the contents of a recording ---- */

/*
 * The log has mark 2k before the change to configs[k], and mark 2k + 1 after
 * it.
 */
struct recording {
	uint64_t seed;
	uint32_t nr_configs;
	bool absorbs;		/* writes of the load that miss go to a write log */
	char script[16];
	struct config configs[MAX_CONFIGS];
	uint64_t end;		/* offset of the log's end */
	uint64_t faults;
	uint64_t requests;
};

void record(struct world *w, struct recording *rec, uint64_t seed);

/*
 * ---- load.c: writes, reads, discards and flushes, checked while they run ----
 */

struct load;

struct load *load_new(const char *node, const struct crash_head *head,
		      uint64_t seed, unsigned int threads);
/* Limits the load to the first @sectors.  May be called while the load runs. */
void load_set_limit(struct load *l, uint64_t sectors);
void load_expect(struct load *l, const uint8_t *content, uint64_t sectors);
/* For a quarter of the requests one thread is alone, and flushes after every write or two. */
void load_has_quiet_phases(struct load *l);
void load_start(struct load *l, bool discards);
/*
 * Stops the load, and returns the number of faults that its reads have found.
 */
uint64_t load_stop(struct load *l);
/* Waits until the load has completed so many more requests. */
void load_wait(const struct load *l, uint64_t requests);
uint64_t load_requests(const struct load *l);
void load_free(struct load *l);

#endif
