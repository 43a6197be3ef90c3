/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A model is what the simulator runs: it is shown accesses to blocks one by
 * one, and says of each whether it hit, was promoted or passed by. Hearth's
 * policies are one kind (hosted.c), textbook algorithms another (classic.c),
 * the optimum a third (optimum.c), an approximation of the kernel's smq a
 * fourth (smq-like.c). A model must not know what an access costs; run.c does.
 */
#ifndef HEARTH_SIMULATOR_MODEL_H
#define HEARTH_SIMULATOR_MODEL_H

#include "trace.h"

enum outcome {
	HIT,
	PROMOTED,
	BYPASSED,
	ABSORBED,		/* by the write log, which had nothing of the block */
};

/**
 * struct trip - the work of the disk when one block leaves the write log
 * @bytes: the bytes that the disk writes; if @kept, the bytes that it reads
 * @seeks: it does not begin where the trip before it ended
 * @kept: the block goes into the cache instead of home
 * @source: the trace's source of the block
 */
struct trip {
	u64 bytes;
	bool seeks, kept;
	u8 source;
};

/**
 * struct model_params - what a model is made for
 * @nr_slots: blocks that the cache can hold
 * @accesses: all that it will be shown; stays until destroy()
 * @settings: "key=value,key=value", or NULL; hearth's policies have some
 * @rotational: the origin is a disk with seeks
 * @ahead: blocks promoted behind one, as the engine's promote_ahead
 * @absorb: percent of the slots that the write log may have, one slot at least; 0
 *	is no log. Only hosted_create() knows a log
 */
struct model_params {
	u32 nr_slots;
	const struct accesses *accesses;
	const char *settings;
	bool rotational;
	u32 ahead;
	u32 absorb;
};

/**
 * struct model - the common head of every model
 * @access: show it the access of that index; called once for each access, in order
 * @finish: empty the write log; NULL if there is none
 * @destroy: free it
 * @accesses: as in the parameters
 * @nr_slots: as in the parameters
 * @disk_s: seconds that the disk has worked until now; run() sets it, for parts that need a
 *	clock
 * @nr_ahead: access() adds the blocks that it promoted behind its own; run()
 *	sets it to 0 before each call
 * @trips: of the blocks that left the write log in access() or finish()
 * @nr_trips: how many; run() sets it to 0 before each call
 */
struct model {
	enum outcome (*access)(struct model *m, u32 index);
	void (*finish)(struct model *m);
	void (*destroy)(struct model *m);
	const struct accesses *accesses;
	u32 nr_slots;
	double disk_s;
	u32 nr_ahead;
	struct trip *trips;
	u32 nr_trips;
};

/**
 * model_create() - make the model of a name
 * @name: of a textbook algorithm, or else of a policy that is linked in
 * @params: what it is made for
 *
 * Return: the model; or NULL, after a message on standard error.
 */
struct model *model_create(const char *name, const struct model_params *params);

/* ---- The kinds of models, for model_create() ---- */

/**
 * classic_create() - make a textbook algorithm
 * @name: one of classic_names
 * @params: what it is made for
 *
 * Return: the model, or NULL, without a message, for another name.
 */
struct model *classic_create(const char *name, const struct model_params *params);

/**
 * optimum_create() - make an algorithm that knows the future
 * @name: "MIN" or "MIN-bypass"
 * @params: what it is made for
 *
 * Source: L. A. Belady, "A study of replacement algorithms for a virtual-storage computer",
 * IBM Systems Journal 5, 1966. "MIN-bypass" lets a miss pass if every cached block is used
 * sooner.
 *
 * Return: the model, or NULL, without a message, for another name.
 */
struct model *optimum_create(const char *name, const struct model_params *params);

/**
 * smq_like_create() - make an approximation of the kernel's smq
 * @name: "smq-like"
 * @params: what it is made for
 *
 * Written from the behaviour of the kernel's policy; smq-like.c says what is left out.
 *
 * Return: the model, or NULL, without a message, for another name.
 */
struct model *smq_like_create(const char *name, const struct model_params *params);

/**
 * hosted_create() - make the host of one of hearth's policies
 * @name: name or alias of a policy that is linked in
 * @params: what it is made for
 *
 * Return: the model; NULL, without a message, for another name; NULL, after a message on
 * standard error, if the policy does not take the settings.
 */
struct model *hosted_create(const char *name, const struct model_params *params);

/* Names that classic_create() knows, ended by NULL. */
extern const char * const classic_names[];

#endif
