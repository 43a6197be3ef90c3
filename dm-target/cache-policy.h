/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface between the cache engine and an eviction/admission policy.
 *
 * The engine asks, the policy answers. A policy never does I/O, never sees a
 * bio, and must not know of devices or metadata: it sees slot numbers (a slot
 * is one block on the cache device), origin block numbers and descriptions of
 * requests. The same policy source is compiled into a kernel module and into
 * the user-space simulator and conformance suite; everything it may use comes
 * from this header and os/os.h. This header must not know any policy.
 *
 * Locking, in one place:
 *
 *  - hit() and miss() are called from any context, concurrently with
 *    everything else, with no lock held. They neither sleep nor allocate nor
 *    take a lock. Their answers are advice and their stores may race; a lost
 *    update must only cost precision.
 *  - create(), destroy(), load() and load_done() are called one at a time while
 *    no request runs. They may sleep.
 *  - victims(), victim_busy(), inserted(), removed(), tick() and stats() are
 *    called one at a time, beside hit() and miss(), with a spinlock of the
 *    engine held. They do not sleep. removed() is also called without that lock
 *    after load_done(), while no request runs.
 *  - hint() is called one at a time beside hit() and miss(). It does not sleep.
 */
#ifndef HEARTH_CACHE_POLICY_H
#define HEARTH_CACHE_POLICY_H

#include "../os/os.h"

#define CACHE_POLICY_NAME_LEN	16	/* with the NUL; the superblock's field */
#define CACHE_POLICY_HINT_BYTES	4

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
 * A request continues a stream if it starts where the stream ended, or up to
 * this many sectors behind that. 64 KiB, because a disk passes over so much
 * in less time than a seek takes.
 */
#define CACHE_STREAM_GAP	128

/*
 * After a CACHE_PROMOTE_AHEAD the engine promotes the blocks behind, as long as
 * more than one in CACHE_AHEAD_SPARES slots is free. The rest of the slots are
 * kept for blocks that are asked for.
 */
#define CACHE_AHEAD_SPARES	8

/**
 * struct cache_io - one request, cut to one block
 * @op: enum cache_op
 * @flags: CACHE_IO_ flags
 * @load: how much of the room for migrations is in use, in percent; for miss()
 *	only
 * @sectors: its length in sectors of 512 bytes
 * @stream_sectors: how many sectors the stream that it continues has
 *	transferred before it; 0 when it continues none
 */
struct cache_io {
	u8 op;
	u8 flags;
	u8 load;
	u32 sectors;
	u32 stream_sectors;
};

/* The answer to a miss; the bypasses are counted by reason. */
enum cache_verdict {
	CACHE_PROMOTE,		/* copy the block to the cache device */
	CACHE_PROMOTE_AHEAD,	/* the same, and blocks behind it are welcome */
	CACHE_PROMOTE_HOT,	/* the same, and known to be reused */
	CACHE_BYPASS_COLD,	/* not seen often enough */
	CACHE_BYPASS_STREAM,	/* part of a sequential stream */
	CACHE_BYPASS_LIMIT,	/* a rate limit of the policy's own */
	CACHE_BYPASS_POLICY,	/* this policy does not promote such requests */
	NR_CACHE_VERDICTS
};

/* Why a slot lost its block. */
enum cache_removal {
	CACHE_REMOVED_EVICTED,	/* it was given by victims() */
	CACHE_REMOVED_INVALID,	/* overwritten on the origin, failed */
	CACHE_REMOVED_DISCARDED, /* its content was discarded */
};

/**
 * struct cache_policy_params - what a policy instance is made for
 * @nr_slots: number of slots
 * @block_sectors: sectors per block
 * @origin_blocks: blocks of the origin
 * @rotational: the origin is a disk with seeks
 * @words: the word of slot 0. The engine keeps 16 bits per slot for the policy,
 *	in the cache line that a hit touches anyhow; policy_word() finds them. They
 *	are zero when create() is called.
 * @word_stride: bytes from one slot's word to the next
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
 * A tunable of a policy: an unsigned integer between @min and @max, kept in a
 * u64 at @offset bytes into the policy's own structure (which starts with its
 * struct cache_policy).  Written by the engine with WRITE_ONCE at any time;
 * read it with READ_ONCE.
 */
struct cache_tunable {
	const char *key;
	const char *unit;
	const char *help;
	u64 min, max;
	size_t offset;
};

/*
 * For a list of SETTING(key, unit, default, min, max, help): the members, and
 * the rows of the table of a structure @type, where the setting is @member.
 */
#define CACHE_SETTING_MEMBER(key, unit, def, min, max, help)	u64 key;
#define CACHE_SETTING_ROW(type, member, key, unit, min, max, help) \
	{ #key, unit, help, min, max, offsetof(type, member) },

/*
 * lvm2 keeps a volume's settings when its policy is switched, so a table gives
 * a policy keys that are meant for another. The engine lets a key pass if some
 * policy has it. It knows the keys of hearth's own policies; another policy that
 * is not loaded is found by this alias, which each policy declares for all of its
 * keys. The alias does not begin with "dm-cache-", because what does is the name
 * of a policy.
 */
#define CACHE_SETTING_ALIAS_PREFIX	"hearth-setting-"
#define CACHE_SETTING_ALIAS(key, unit, def, min, max, help) \
	MODULE_ALIAS(CACHE_SETTING_ALIAS_PREFIX #key);

struct cache_policy;

/*
 * Told one figure of a policy. @name is made of a-z, 0-9 and _, is shorter than
 * CACHE_POLICY_STAT_LEN with its NUL, and is not used after the call. @value is
 * a count, or a thousandth of what the name says if it ends in _permille.
 */
#define CACHE_POLICY_STAT_LEN	40
typedef void (*cache_policy_stat_fn)(void *ctx, const char *name, s64 value);

struct cache_policy_ops {
	const char *name;		/* real name; names the hints in metadata */
	const char * const *aliases;	/* NULL-terminated, or NULL */
	unsigned int version[3];	/* major decides whether hints are read */
	bool writeback_all;		/* write every dirty block back at once */
	const struct cache_tunable *tunables;	/* ends with a NULL key; or NULL */
	struct module *owner;

	/* Return NULL when out of memory. */
	struct cache_policy *(*create)(const struct cache_policy_params *params);
	void (*destroy)(struct cache_policy *p);

	/* A request found @slot, which holds @block. */
	void (*hit)(struct cache_policy *p, u32 slot, u64 block,
		    const struct cache_io *io);
	/* A request found no slot. */
	enum cache_verdict (*miss)(struct cache_policy *p, u64 block,
				   const struct cache_io *io);

	/*
	 * Fill @slots with up to @nr slots worth evicting, worst first, and
	 * return how many.  Each is taken out of the policy's order: it comes
	 * back by victim_busy() (in use or dirty: keep it, ask for it again
	 * later) or ends by removed().
	 */
	unsigned int (*victims)(struct cache_policy *p, u32 *slots,
				unsigned int nr);
	void (*victim_busy)(struct cache_policy *p, u32 slot);

	/* @slot now belongs to @block, as @why (a PROMOTE verdict) had asked. */
	void (*inserted)(struct cache_policy *p, u32 slot, u64 block,
			 enum cache_verdict why);
	void (*removed)(struct cache_policy *p, u32 slot, u64 block,
			enum cache_removal why);

	/*
	 * Restore one occupied slot on activation or on a switch of policies.
	 * Called once for each, in slot order, before any hit() or miss(), and
	 * followed by one load_done(). @hint is only valid if @hint_valid.
	 */
	void (*load)(struct cache_policy *p, u32 slot, u64 block, u32 hint,
		     bool hint_valid);
	void (*load_done)(struct cache_policy *p);
	/*
	 * The hint for load() at the next start: 0 (evict first) to 63 (keep
	 * longest), which a stock smq reads as its own.
	 */
	u32 (*hint)(struct cache_policy *p, u32 slot);

	/* About once a second.  May be NULL. */
	void (*tick)(struct cache_policy *p, u64 now_ms);

	/*
	 * Tell @tell what the policy knows, one figure a call, the same names
	 * in the same order each time. People read them; nothing depends on
	 * them. Changes nothing and does not sleep, because the engine holds a
	 * spinlock. May be NULL.
	 */
	void (*stats)(struct cache_policy *p, cache_policy_stat_fn tell,
		      void *ctx);
};

/**
 * struct cache_policy - the common head of every policy instance
 * @ops: filled in by the engine after create()
 * @params: the same; create() may fill it in for its own use before
 * @bytes: the memory that create() allocated, for the log
 */
struct cache_policy {
	const struct cache_policy_ops *ops;
	struct cache_policy_params params;
	u64 bytes;
};

/** policy_word() - the policy's 16 bits of @slot; any context */
static inline u16 *policy_word(const struct cache_policy *p, u32 slot)
{
	return (u16 *)((char *)p->params.words +
		       (size_t)slot * p->params.word_stride);
}

/**
 * cache_policy_register() - offer a policy to the engine, under its name
 * @ops: stays until cache_policy_unregister()
 *
 * Process context, may sleep.
 * Return: 0, -ENOMEM, or -EEXIST if a policy answers to that name already.
 */
int cache_policy_register(const struct cache_policy_ops *ops);

/** cache_policy_unregister() - take @ops back. No engine uses it any more. */
void cache_policy_unregister(const struct cache_policy_ops *ops);

/*
 * Closes a policy's source file: registers @ops when its module is loaded, or
 * names it to the simulator in user space.
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
