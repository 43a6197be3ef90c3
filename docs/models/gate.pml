/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pairs of "store, then look", with memory as weak as a store buffer makes it: each
 * side stores, and then looks at the other side's variable.  At least one of the two
 * has to see the other's store.
 *
 * CASE 1, the gate: a write that bypasses the cache (cache_gate_enter() in
 * dm-target/cache-gate.c: the gate, then the hash) against a promotion
 * (cache_gate_publish() there: the hash, then the gate).
 *
 * CASE 2, the last dirty block: a write to the cache only (count_dirty() in
 * cache-io.c: the number of dirty blocks, then the mode) against a cache that is
 * given up because no block is dirty (stop_dirtying() in cache-degrade.c: the mode,
 * then the number).
 *
 * CASE 3, units of a block: a writer that ends (cache_return_units() in
 * cache-both.c: the units, then whether they are wanted; if not, it wakes nobody)
 * against one that finds them taken (wait_for_units(): wanted, then the units; it
 * goes to sleep).
 *
 * Other processes see a store some time after it was done, at the latest at the next
 * full barrier of the process that stored.
 */

#if CASE == 1
#define in_writer	gate		/* the variables in memory */
#define in_other	hashed
#elif CASE == 2
#define in_writer	dirty
#define in_other	passthrough
#elif CASE == 3
#define in_writer	given
#define in_other	wanted
#endif

bool in_writer, in_other;
bool writer_goes, other_goes;

/* atomic_inc(gate); atomic_inc(nr_dirty) */
proctype Writer()
{
	bool buffered = true;

	do
	:: buffered -> atomic { in_writer = true; buffered = false }
	:: true -> break
	od;
#ifndef BUG_NO_BARRIER_IN_WRITER
	/* smp_mb__after_atomic() */
	atomic { in_writer = true; buffered = false };
#endif
	if
	:: !in_other -> writer_goes = true
	:: else
	fi;
	in_writer = in_writer || buffered
}

/* slot_map_insert(); WRITE_ONCE(mode) */
proctype Other()
{
	bool buffered = true;

	do
	:: buffered -> atomic { in_other = true; buffered = false }
	:: true -> break
	od;
#ifndef BUG_NO_BARRIER_IN_OTHER
	/* smp_mb() */
	atomic { in_other = true; buffered = false };
#endif
	if
	:: !in_writer -> other_goes = true
	:: else
	fi;
	in_other = in_other || buffered
}

init
{
	atomic { run Writer(); run Other() };
	_nr_pr == 1;
	assert(!(writer_goes && other_goes))
}
