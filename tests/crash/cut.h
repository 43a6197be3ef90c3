/* SPDX-License-Identifier: GPL-2.0-only */
/* One run: a recording, where its cuts are, what was counted. */
#ifndef CUT_H
#define CUT_H

#include "crash.h"

/* What is done between the first cut and the end, or the second cut. */
enum session {
	SESSION_NONE,
	SESSION_READ,		/* everything again: promotions and evictions */
	SESSION_CLEAN,		/* all that is dirty goes home */
	SESSION_LOAD,		/* as in the recording */
};
#define NR_SESSIONS (SESSION_LOAD + 1)

struct tally {
	uint64_t looked;	/* states examined without a kernel */
	uint64_t cuts;		/* of those, opened by the engine */
	uint64_t second_cuts;
	uint64_t activations;
	uint64_t tool_checks, tool_writebacks;
	uint64_t repairs, repairs_refused;	/* of metadata, sound or spoilt */
	uint64_t repairs_opened;	/* by an engine */
	uint64_t repair_lost, repair_guessed;	/* blocks, sums over the repairs */
	uint64_t mapped, dirty;	/* sums over the states */
	uint64_t differ;	/* dirty blocks whose copies do differ */
	uint64_t timed, us_after_cut, us_after_clean;
	uint64_t stock_cuts, stock_crashes;
	uint64_t faults;
	uint64_t failed;	/* cuts */
};

struct crash {
	struct world w;
	struct recording rec;
	struct log log;
	struct replay main;
	struct rng rng;		/* of the present cut */
	struct tally tally;
	bool stock;		/* the kernel's own engine is loaded */
	struct chunks changed[NR_DISKS];	/* memory that may differ from main */
	uint8_t *saved[NR_DISKS];	/* the disks at the first cut */
	struct chunks in_saved[NR_DISKS];
	uint8_t *first;		/* the cache as first read after a cut */
	uint8_t *second;	/* the same after the second cut */
	uint8_t *buf;
	uint8_t *repaired;	/* metadata, see repair_keeps() */
	uint8_t *session_unknown;
};

/* The event of a cut: chosen by the recording's seed and the number. */
uint32_t cut_event(const struct crash *x, uint32_t number);
/* Events do not go back from call to call. */
bool cut_check(struct crash *x, uint32_t number, uint32_t event, bool activate);
/* The same by the kernel's engine; @crash: it is cut, too, and hearth opens that. */
bool cut_check_stock(struct crash *x, uint32_t number, uint32_t event, bool crash);

/* cache_check and cache_dump of every version find what @v says. */
bool tools_agree(struct crash *x, const struct meta_view *v);
/*
 * cache_check of every version passes the metadata in @data, which is on the disk
 * meanwhile.
 */
bool tools_pass(struct crash *x, uint8_t *data);
/* cache_writeback brings all that is certain to the origin. */
bool tools_write_back(struct crash *x, const struct config *c);

/*
 * Repair of the metadata on the disk, whose content is @v, and of the same with
 * one block spoilt: what was dirty is dirty or named as lost.  Leaves in
 * x->repaired a result in which nothing dirty is lost.
 */
bool repair_keeps(struct crash *x, const struct meta_view *v);
/* That result becomes what is on the metadata device. */
void repair_take(struct crash *x);

/* Switches engines by the command of $CRASH_ENGINE; no cache may be open. */
void engine_load(const char *name);

#endif
