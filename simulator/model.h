/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the simulator runs: something that is shown accesses to blocks one by
 * one, and says of each whether it hit, was promoted or passed by.  Hearth's
 * policies are one kind (hosted.c), textbook algorithms another (classic.c),
 * the optimum a third (optimum.c).
 */
#ifndef HEARTH_SIMULATOR_MODEL_H
#define HEARTH_SIMULATOR_MODEL_H

#include "trace.h"

enum outcome {
	HIT,
	PROMOTED,
	BYPASSED,
};

struct model_params {
	u32 nr_slots;
	const struct accesses *accesses;
	const char *settings;	/* key=value,key=value or NULL */
	bool rotational;
	u32 ahead;		/* blocks promoted behind one, as the engine's promote_ahead */
};

struct model {
	enum outcome (*access)(struct model *m, u32 index);
	void (*destroy)(struct model *m);
	const struct accesses *accesses;
	u32 nr_slots;
	u32 nr_ahead;		/* blocks that access() promoted behind its own */
};

/*
 * Make the model that @name names, NULL (and a message) if that cannot be:
 * first the classic ones, then hearth's policies.
 */
struct model *model_create(const char *name, const struct model_params *params);

struct model *classic_create(const char *name, const struct model_params *params);
struct model *optimum_create(const char *name, const struct model_params *params);
struct model *smq_like_create(const char *name, const struct model_params *params);
struct model *hosted_create(const char *name, const struct model_params *params);

/* Their names, ended by NULL. */
extern const char * const classic_names[];

#endif
