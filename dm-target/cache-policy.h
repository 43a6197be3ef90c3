/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface between the cache engine and an eviction/admission policy.
 *
 * The engine asks, the policy answers. A policy never does I/O, never sees a
 * bio, and must not know of devices or metadata. It sees numbers of slots (a slot
 * is one block of the cache device), numbers of the origin's blocks, and
 * descriptions of requests. The same source of a policy is compiled into a kernel
 * module, and into the simulator and the conformance suite in user space. So a
 * policy uses only this header and os/os.h. This header must not know any policy.
 *
 * Locking, in one place:
 *
 *  - hit() and miss() are called from any context, concurrently with
 *    everything else, with no lock held. They neither sleep nor allocate nor
 *    take a lock. An answer of theirs is advice. Their stores may race, so a lost
 *    update must cost precision only.
 *  - create(), destroy(), load() and load_done() are called one at a time while
 *    no request runs. They may sleep.
 *  - victims(), victim_busy(), inserted(), removed(), tick() and stats() are
 *    called one at a time, beside hit() and miss(), with a spinlock of the
 *    engine (policy.lock) held. They do not sleep. removed() is also called
 *    without that lock after load_done(), while no request runs.
 *  - hint() is called one at a time beside hit() and miss(). It does not sleep.
 */
#ifndef HEARTH_CACHE_POLICY_H
#define HEARTH_CACHE_POLICY_H

#include "../os/os.h"

/* Bytes of a policy's name with its NUL, as many as the superblock has for it. */
#define CACHE_POLICY_NAME_LEN	16
#define CACHE_POLICY_HINT_BYTES	4	/* bytes of a hint in the metadata */

enum cache_op {
	CACHE_OP_READ,
	CACHE_OP_WRITE,
};

/* struct cache_io flags */
#define CACHE_IO_FULL_BLOCK	(1u << 0) /* a write that covers its block */
#define CACHE_IO_STREAM		(1u << 1) /* continues a sequential stream */
#define CACHE_IO_META		(1u << 2) /* file system metadata (REQ_META) */
#define CACHE_IO_NO_FETCH	(1u << 3) /* promotion would not read the origin */
#define CACHE_IO_FREE_SLOTS	(1u << 4) /* beyond the engine's reserve */

/*
 * A request continues a stream if it starts where the stream ended, or so many
 * sectors behind that place at most. They are 64 KiB, because a disk passes over
 * so much in less time than a seek takes.
 */
#define CACHE_STREAM_GAP	128

/*
 * After a CACHE_PROMOTE_AHEAD the engine promotes the blocks behind the requested
 * one as well, while more than one in CACHE_AHEAD_SPARES slots is free. It leaves
 * that share of the slots to blocks that are requested. Not chosen by measurement.
 */
#define CACHE_AHEAD_SPARES	8

/*
 * While more than one in so many slots is free, no block leaves for another, so miss() is not
 * called for each further write to a block that the write log has and the policy has wanted.
 * In the simulator the disk's time that is saved hardly changes.  Policies, too, take a cache
 * with so many free slots for one that fills up.
 */
#define CACHE_SETTLED_SHARE	4

/**
 * struct cache_io - one request, cut to one block
 * @op: enum cache_op
 * @flags: CACHE_IO_ flags
 * @load: how much of the room for migrations is in use, in percent; 0 in hit()
 * @sectors: its length in sectors of 512 bytes
 * @stream_sectors: how many sectors the stream that it continues had
 *	transferred before it; 0 if it continues none
 */
struct cache_io {
	u8 op;
	u8 flags;
	u8 load;
	u32 sectors;
	u32 stream_sectors;
};

/* The answer to a miss. Each bypass has a counter for its reason. */
enum cache_verdict {
	CACHE_PROMOTE,		/* the block is to come into the cache */
	CACHE_PROMOTE_AHEAD,	/* the same, and blocks behind it are welcome */
	CACHE_PROMOTE_HOT,	/* the same as the first; it is known to be reused */
	CACHE_BYPASS_COLD,	/* the block was not seen often enough */
	CACHE_BYPASS_STREAM,	/* the request is part of a sequential stream */
	CACHE_BYPASS_LIMIT,	/* a limit of the policy's own is reached */
	CACHE_BYPASS_POLICY,	/* the policy does not promote such requests */
	NR_CACHE_VERDICTS
};

/* Why a slot lost its block. */
enum cache_removal {
	/* To make room: victims() gave the slot, or the write log's ring needs it. */
	CACHE_REMOVED_EVICTED,
	CACHE_REMOVED_INVALID,	/* the origin alone is to be used, or a message asked */
	CACHE_REMOVED_DISCARDED, /* its content was discarded */
};

/**
 * struct cache_policy_params - what a policy instance is made for
 * @nr_slots: the number of slots
 * @block_sectors: the sectors of a block
 * @origin_blocks: the blocks of the origin
 * @rotational: the origin is a disk that seeks
 * @words: the policy's word of slot 0. The engine keeps 16 bits per slot for the
 *	policy, in the cache line that a hit touches anyhow; policy_word() finds
 *	them. They are zero when create() is called.
 * @word_stride: the bytes from one slot's word to the next
 */
struct cache_policy_params {
	u32 nr_slots;
	u32 block_sectors;
	u64 origin_blocks;
	bool rotational;
	u16 *words;
	u32 word_stride;
};

/*
 * A setting of a policy: an unsigned integer. It is a u64 in the policy's own
 * structure, which starts with its struct cache_policy. The engine writes it with
 * WRITE_ONCE() at any time, so the policy reads it with READ_ONCE().
 *
 * No code of the kernel reads @unit and @help. The program hearth does, which is
 * compiled with the policies and shows their settings from these tables.
 */
struct cache_tunable {
	const char *key;	/* its name */
	const char *unit;	/* of its value, for users */
	const char *help;	/* what it does, for users */
	u64 min, max;		/* its value is in this range, both ends included */
	size_t offset;		/* its place in the policy's structure, in bytes */
};

/*
 * For a list of SETTING(key, unit, default, min, max, help). The first makes the
 * members of a structure, the second the rows of its settings' table: @type is the
 * structure, and @member the member that is the setting.
 */
#define CACHE_SETTING_MEMBER(key, unit, def, min, max, help)	u64 key;
#define CACHE_SETTING_ROW(type, member, key, unit, min, max, help) \
	{ #key, unit, help, min, max, offsetof(type, member) },

/*
 * lvm2 keeps a volume's settings when its policy is switched, so a table may give a
 * policy keys that are meant for another. The engine lets a key pass if some policy
 * has it. It knows the keys of hearth's own policies. Any other policy declares
 * this alias for each of its keys, and modprobe finds the policy by the alias. The
 * alias does not begin with "dm-cache-", because a name that does is a policy's.
 */
#define CACHE_SETTING_ALIAS_PREFIX	"hearth-setting-"
#define CACHE_SETTING_ALIAS(key, unit, def, min, max, help) \
	MODULE_ALIAS(CACHE_SETTING_ALIAS_PREFIX #key);

struct cache_policy;

/*
 * A policy calls such a function with one figure of its own. @name is made of a-z,
 * 0-9 and _, takes CACHE_POLICY_STAT_LEN bytes at most with its NUL, and is not
 * used after the call. @value is a count, or thousandths if @name ends in _permille.
 */
#define CACHE_POLICY_STAT_LEN	40
typedef void (*cache_policy_stat_fn)(void *ctx, const char *name, s64 value);

struct cache_policy_ops {
	const char *name;		/* also says whose the hints in the metadata are */
	const char * const *aliases;	/* other names, ended by NULL; or NULL */
	unsigned int version[3];	/* hints of another major version are not read */
	bool writeback_all;		/* it asks for a drain: all dirty blocks go home */
	const struct cache_tunable *tunables;	/* ended by a NULL key; or NULL */
	struct module *owner;

	/* Return NULL when out of memory. */
	struct cache_policy *(*create)(const struct cache_policy_params *params);
	void (*destroy)(struct cache_policy *p);

	/* A request has found @slot, which holds @block. */
	void (*hit)(struct cache_policy *p, u32 slot, u64 block,
		    const struct cache_io *io);
	/* A request has found no slot: may @block come in? */
	enum cache_verdict (*miss)(struct cache_policy *p, u64 block,
				   const struct cache_io *io);

	/*
	 * Fill @slots with up to @nr slots that are to be evicted, the least
	 * valuable first, and return how many. The policy takes each out of its
	 * order. Then the engine calls removed() for the slot if it evicts it,
	 * or victim_busy() if the slot is in use or dirty.
	 */
	unsigned int (*victims)(struct cache_policy *p, u32 *slots,
				unsigned int nr);
	/* Put a slot of victims() back into the order, so that it is given again. */
	void (*victim_busy)(struct cache_policy *p, u32 slot);

	/* @slot has got @block. @why is the verdict that let the block in. */
	void (*inserted)(struct cache_policy *p, u32 slot, u64 block,
			 enum cache_verdict why);
	/* @slot has lost @block; victims() need not have given the slot. */
	void (*removed)(struct cache_policy *p, u32 slot, u64 block,
			enum cache_removal why);

	/*
	 * Take over one slot that holds a block, on activation or on a switch of
	 * policies. The engine calls it once for each such slot, in the order of
	 * slots, before any hit() or miss(), and then load_done() once. @hint
	 * means nothing unless @hint_valid.
	 */
	void (*load)(struct cache_policy *p, u32 slot, u64 block, u32 hint,
		     bool hint_valid);
	void (*load_done)(struct cache_policy *p);
	/*
	 * The hint of a slot for the next load(): 0 (evict first) to 63 (keep
	 * longest). smq of the kernel's own target reads it as its own. May be
	 * NULL.
	 */
	u32 (*hint)(struct cache_policy *p, u32 slot);

	/*
	 * Called about once a second. @now_ms is a clock in milliseconds, which
	 * wraps at 2^32. May be NULL.
	 */
	void (*tick)(struct cache_policy *p, u64 now_ms);

	/*
	 * Call @tell once for each figure, with the same names in the same order
	 * each time. People read the figures, and no program depends on them.
	 * The call changes nothing, and does not sleep, because the engine holds
	 * a spinlock. May be NULL.
	 */
	void (*stats)(struct cache_policy *p, cache_policy_stat_fn tell,
		      void *ctx);
};

/**
 * struct cache_policy - the common head of every policy instance
 * @ops: the policy; the engine sets it after create()
 * @params: the arguments of create(); the engine sets them after create(), which may
 *	set them before for its own use
 * @bytes: the bytes of memory that create() allocated, for the kernel log
 */
struct cache_policy {
	const struct cache_policy_ops *ops;
	struct cache_policy_params params;
	u64 bytes;
};

/**
 * policy_word() - the policy's 16 bits of a slot
 * @p: the policy
 * @slot: the slot
 *
 * Context: any.
 */
static inline u16 *policy_word(const struct cache_policy *p, u32 slot)
{
	return (u16 *)((char *)p->params.words +
		       (size_t)slot * p->params.word_stride);
}

/**
 * cache_policy_register() - offer a policy to the engine, under its name
 * @ops: the policy; stays until cache_policy_unregister()
 *
 * Context: process, may sleep; takes registry_lock.
 *
 * Return: 0; -ENOMEM; -EEXIST if another policy has that name or alias.
 */
int cache_policy_register(const struct cache_policy_ops *ops);

/**
 * cache_policy_unregister() - take a policy back
 * @ops: the policy; no engine uses it any more
 *
 * Context: process, does not sleep; takes registry_lock.
 */
void cache_policy_unregister(const struct cache_policy_ops *ops);

/*
 * The last line of a policy's source file. In the kernel it registers @ops when the
 * module is loaded, and takes it back when the module goes. In user space it names
 * @ops to the simulator.
 */
#ifdef __KERNEL__
#define CACHE_POLICY_MODULE(ops)					\
	static int __init ops##_init(void)				\
	{								\
		return cache_policy_register(&ops);			\
	}								\
	static void __exit ops##_exit(void)				\
	{								\
		cache_policy_unregister(&ops);				\
	}								\
	module_init(ops##_init);					\
	module_exit(ops##_exit)
#else
#define CACHE_POLICY_MODULE(ops)					\
	static void __attribute__((constructor)) ops##_init(void)	\
	{								\
		cache_policy_register(&ops);				\
	}								\
	extern const struct cache_policy_ops ops
#endif

#endif
