/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which parts of a dirty block write-back copies: SLOT_PARTS_MASK in
 * slots/cache-slots.h with cache-writeback.c and the writers of cache-io.c, for
 * spin.
 *
 * The model has one slot with a block of three parts, each with a value on the cache
 * device and one on the origin.  A writer pins the slot and marks its part in one
 * step, writes, and unpins.  Write-back takes the marks when it begins, and copies
 * from the first marked part to the last, one after the other.  It gives the marks
 * back unless the block is clean then.  A copy may fail, and so may the commit after
 * it.
 *
 * Whenever the slot is VALID without a writer, a part that differs from the origin
 * is marked and the block is dirty.  A clean block does not differ at all.
 *
 * Left out: durability (dirty.pml); how a slot is filled and freed (slots.pml).
 *
 * CASE chooses the processes, BUG_... makes a variant that must fail.
 */

#if CASE == 1		/* two writers in writeback, beside write-back that repeats */
#define PROCESSES	run Writer(0, 1); run Writer(2, 2); run Writeback()
#elif CASE == 2		/* the same, and both write one part */
#define PROCESSES	run Writer(0, 1); run Writer(0, 2); run Writeback()
#elif CASE == 3		/* a write to both devices, of a block that was left dirty */
#define PROCESSES	run Writer(0, 1); run Both(1, 2); run Writeback()
#elif CASE == 4
#define PROCESSES	run Writer(0, 1); run Writer(2, 2); run Writer(1, 3); \
			run Writeback()
#endif

#define PARTS		3

mtype = { VALID, WRITEBACK };
mtype state = VALID;
bool slot_dirty, touched;
byte parts;
byte writers;
byte fast[PARTS], origin[PARTS];

#define NAMED(p)	(parts & (1 << (p)))
#define SAME(p)		(fast[p] == origin[p])
#define SOUND(p)	(SAME(p) || (slot_dirty && NAMED(p)))

/* Is part p before the first of the set, or behind the last? */
#define BEFORE(set, p)	(!((set) & ((2 << (p)) - 1)))
#define BEHIND(set, p)	(!((set) >> (p)))

/* Checked in the step in which the slot comes to rest. */
inline rests()
{
	if
	:: state == VALID && writers == 0 -> assert(SOUND(0) && SOUND(1) && SOUND(2))
	:: else
	fi
}

/* The block becomes dirty after the pin; with a durable intent the code does both at once. */
proctype Writer(byte p; byte v)
{
	d_step {
		writers++;
		touched = true;
		parts = parts | (1 << p)
	}
	slot_dirty = true;
	fast[p] = v;
	d_step { writers--; rests() }
}

/*
 * A writethrough write to a slot that may still be dirty runs alone, and not beside
 * write-back.  If only its origin write fails, a dirty slot keeps the value as if it
 * had been written in writeback; a clean slot leaves the cache.
 */
proctype Both(byte p; byte v)
{
	bool was_dirty;

	d_step {
		writers == 0 && state == VALID;
		writers++;
		touched = true;
#ifndef BUG_BOTH_UNNAMED
		parts = parts | (1 << p)
#endif
	}
	fast[p] = v;
	if
	:: origin[p] = v
	:: was_dirty = slot_dirty;
	   if
	   :: was_dirty
	   :: else -> fast[p] = origin[p]
	   fi
	fi;
	d_step { writers--; rests() }
}

proctype Writeback()
{
	byte taken, p;
	bool copied;

end:	do
	:: atomic {
		state == VALID && slot_dirty && writers == 0;
		taken = parts;
		parts = 0;
		touched = false;
		state = WRITEBACK;
		assert(taken);
		p = 0
	   };
	   copied = true;
	   do
	   :: BEFORE(taken, p) -> p++
	   :: !BEFORE(taken, p) && !BEHIND(taken, p) ->
		if
		:: origin[p] = fast[p]
		:: copied = false
		fi;
		p++
	   :: BEHIND(taken, p) -> break
	   od;
	   atomic {
		if
#ifdef BUG_CLEAR_THOUGH_TOUCHED
		:: copied && writers == 0 -> slot_dirty = false
#else
		:: copied && writers == 0 && !touched -> slot_dirty = false
#endif
		:: else ->
			copied = false;
#ifndef BUG_NOT_GIVEN_BACK
			parts = parts | taken;
#endif
			state = VALID;
			rests()
		fi
	   };
	   if
	   :: !copied
	   :: copied -> atomic { state = VALID; rests() }
	   :: copied -> atomic {	/* the commit failed */
			slot_dirty = true;
#ifndef BUG_COMMIT_ERROR_FORGETS
			parts = parts | taken;
#endif
			state = VALID;
			rests()
		}
	   fi
	od
}

init
{
	atomic { PROCESSES }
}
