/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The slot state machine: slots/cache-slots.[ch], cache-io.c, cache-fill.c,
 * cache-evict.c, cache-writeback.c and the changes that cache-commit.c makes to
 * slots, for spin.
 *
 * The model follows the code step by step: every access to a slot's word, to the
 * hash chains, to a gate and to a device is a step of its own, and any other process
 * may run between two steps.  It has two origin blocks and one or two slots; a block
 * is one value.  The names are those of the code.
 *
 * The assertions:
 *   no stale read    a read returns a value that was current at some moment
 *                    between its beginning and its end; after a value was read,
 *                    no read returns an older one
 *   no write lost    the same, by a last read when no process runs any more
 *   eviction         an unmapped slot has no pin, and is not dirty
 *   intents          a write continues at once only if the slot's dirty bit is
 *                    durable for the block that the slot has now
 *   nothing stuck    no process waits for a wake-up that does not come (an
 *                    invalid end state)
 *   grants           a process gets a VALID slot after it waited three times, however
 *                    many others come (cases 26 to 28); a slot that is granted is not
 *                    granted to another process, and does not open
 *
 * Left out: weak memory (gate.pml has the places where that matters most); how the
 * chains are walked (see is_stray); failing commits, and with them every change of
 * health; durability (dirty.pml).
 *
 * CASE chooses the processes, BUG_... makes a variant that must fail.
 */

#if CASE == 1		/* writethrough: writers beside a promotion and an eviction */
#define PROCESSES	run Writer(0, 2); run Writer(0, 3); run Fill(0); run Evict()
#elif CASE == 2		/* the same, seen by a reader */
#define PROCESSES	run Writer(0, 2); run Reader(2); run Fill(0); run Evict()
#elif CASE == 3		/* a slot is reused for another block under its users */
#define READ_BOTH
#define LOADED		(VALID | INTENT)
#define PROCESSES	run Writer(0, 2); run Reader(1); run Evict(); run Fill(1); \
			run Evict()
#elif CASE == 4		/* the same in writeback, where a write leaves DIRTY behind */
#define WRITEBACK_MODE
#define READ_BOTH
#define LOADED		(VALID | INTENT)
#define PROCESSES	run Writer(0, 2); run Reader(1); run Evict(); run Fill(1); \
			run Writeback()
#elif CASE == 5		/* write-back beside writers */
#define WRITEBACK_MODE
#define LOADED		(VALID | INTENT | DIRTY)
#define PROCESSES	run Writer(0, 2); run Writer(0, 3); run Writeback()
#elif CASE == 6		/* the same, seen by a reader, and evicted after */
#define WRITEBACK_MODE
#define LOADED		(VALID | INTENT | DIRTY)
#define PROCESSES	run Writer(0, 2); run Reader(2); run Writeback(); run Evict()
#elif CASE == 7		/* two promotions of one block, two slots */
#define NS		2
#define READ_FILLS
#define PROCESSES	run Writer(0, 2); run Reader(1); run Fill(0); run Evict()
#elif CASE == 8		/* writes of whole blocks promote themselves */
#define NS		2
#define WRITEBACK_MODE
#define PROCESSES	run Writer(0, 2); run Writer(0, 3); run Reader(1)
#elif CASE == 9		/* the cache device fails under a write to both */
#define FAST_ERRORS
#define LOADED		(VALID | INTENT)
#define PROCESSES	run Writer(0, 2); run Writer(0, 3); run Evict()
#elif CASE == 10	/* the same, seen by a reader */
#define FAST_ERRORS
#define LOADED		(VALID | INTENT)
#define PROCESSES	run Writer(0, 2); run Reader(2); run Fill(0); run Evict()
#elif CASE == 11	/* a discard */
#define WRITEBACK_MODE
#define LOADED		(VALID | INTENT | DIRTY)
#define PROCESSES	run Discard(0); run Writer(0, 2); run Reader(1)
#elif CASE == 12	/* a discard beside a write-back */
#define WRITEBACK_MODE
#define LOADED		(VALID | INTENT | DIRTY)
#define PROCESSES	run Discard(0); run Writer(0, 2); run Writeback()
#elif CASE == 13	/* writethrough, of a block that a writeback table left dirty */
#define LOADED		(VALID | INTENT | DIRTY)
#define PROCESSES	run Writer(0, 2); run Reader(2); run Writeback(); run Evict()
#elif CASE == 14	/* a discard beside a promotion */
#define WRITEBACK_MODE
#define PROCESSES	run Discard(0); run Reader(2); run Fill(0); run Evict()
#elif CASE == 15	/* another block gets a free slot on which a walker stands */
#define NS		2
#define WRITEBACK_MODE
#define LOADED		(VALID | INTENT | DIRTY)
#define PROCESSES	run Reader(2); run Fill(1); run Fill(1)
#elif CASE == 16	/* the cache device cannot be read: a clean block is dropped */
#define READ_ERRORS
#define WRITEBACK_MODE
#define LOADED		(VALID | INTENT)
#define PROCESSES	run Reader(2); run Writer(0, 2); run Writeback()
#elif CASE == 17	/* the same in writethrough */
#define READ_ERRORS
#define LOADED		(VALID | INTENT)
#define PROCESSES	run Reader(2); run Writer(0, 2); run Fill(0); run Evict()
#elif CASE == 18	/* passthrough: a write unmaps its block first */
#define PASSTHROUGH
#define LOADED		VALID
#define PROCESSES	run Writer(0, 2); run Writer(0, 3); run Reader(2)
#elif CASE == 19	/* an intent is set ahead of writes, in writethrough */
#define AHEAD
#define LOADED		VALID
#define PROCESSES	run Ahead(); run Writer(0, 2); run Reader(1); run Evict(); \
			run Fill(1)
#elif CASE == 20	/* the same in writeback, beside a write-back */
#define AHEAD
#define WRITEBACK_MODE
#define LOADED		VALID
#define PROCESSES	run Ahead(); run Ahead(); run Writer(0, 2); run Writeback(); \
			run Evict()
#elif CASE == 21	/* the same, and a discard takes the block away */
#define AHEAD
#define WRITEBACK_MODE
#define LOADED		VALID
#define PROCESSES	run Ahead(); run Discard(0); run Writer(0, 2); run Fill(1)
#elif CASE == 22	/* the block leaves the slot on which a walker stands */
#define NS		2
#define WRITEBACK_MODE
#define LOADED		(VALID | INTENT)
#define PROCESSES	run Reader(2); run Writer(0, 2); run Evict(); run Fill(1)
#elif CASE == 23	/* the cache device is given up while writes are under way */
#define WRITEBACK_MODE
#define ABANDON
#define LOADED		VALID
#define PROCESSES	run Writer(0, 2); run Writer(0, 3); run Abandon()
#elif CASE == 24	/* the same beside a write-back */
#define WRITEBACK_MODE
#define ABANDON
#define LOADED		(VALID | INTENT)
#define PROCESSES	run Writer(0, 2); run Writer(0, 3); run Abandon(); run Writeback()
#elif CASE == 25	/* the same, for a block that is evicted and promoted again */
#define WRITEBACK_MODE
#define ABANDON
#define LOADED		(VALID | INTENT)
#define PROCESSES	run Writer(0, 2); run Writer(0, 3); run Abandon(); run Evict()
#elif CASE == 26	/* readers come and come, and a discard needs no pins */
#define COUNT_WAITS
#define WRITEBACK_MODE
#define LOADED		VALID
#define PROCESSES	run Pinner(3, PIN); run Pinner(2, PIN); run Discard(0)
#elif CASE == 27	/* the same with writers, and with one over a dirty block */
#define COUNT_WAITS
#define LOADED		(VALID | INTENT | DIRTY)
#define PROCESSES	run Pinner(2, PIN + WRITER); run Pinner(2, PIN + WRITER); \
			run Writer(0, 2)
#elif CASE == 28	/* two need no pins, and one of them pins when it has none */
#define COUNT_WAITS
#define LOADED		(VALID | INTENT | DIRTY)
#define PROCESSES	run Pinner(2, PIN + WRITER); run Writer(0, 2); run Discard(0)
#elif CASE == 29	/* a write that waits for a write-back, and readers */
#define LOADED		(VALID | INTENT | DIRTY)
#define PINNERS
#define PROCESSES	run Pinner(2, PIN); run Writer(0, 2); run Writeback()
#elif CASE == 30	/* everything of cases 1 to 3 at once: large */
#define READ_BOTH
#define PROCESSES	run Writer(0, 2); run Writer(0, 3); run Reader(1); \
			run Fill(0); run Evict()
#elif CASE == 31	/* all cases of a discard at once: large */
#define WRITEBACK_MODE
#define LOADED		(VALID | INTENT | DIRTY)
#define PROCESSES	run Discard(0); run Writer(0, 2); run Reader(1); run Fill(0)
#elif CASE == 32	/* case 23, seen by a reader: large */
#define WRITEBACK_MODE
#define ABANDON
#define LOADED		VALID
#define PROCESSES	run Writer(0, 2); run Writer(0, 3); run Reader(2); run Abandon()
#endif

#ifndef NS
#define NS	1	/* slots */
#endif
#define NB	2	/* origin blocks */
#define NONE	9

/* slot->word */
#define FREE		0
#define FILLING		1
#define VALID		2
#define WRITEBACK	3
#define EVICTING	4
#define STATE(w)	((w) & 7)
#define DIRTY		8
#define INTENT		16
#define TOUCHED		32
#define WAITERS		64
#define PIN		256
#define PINS(w)		((w) & 768)
#define PINS_FULL	768
#define WRITER		1024
#ifdef BUG_DROP_DIRTY
#define DROPS_DIRTY	true
#else
#define DROPS_DIRTY	false
#endif
#define WRITERS(w)	((w) & 3072)

/* cache_mode_keeps_dirty(); cache-degrade.c changes the mode while I/O runs. */
#ifdef ABANDON
bool abandoned;		/* mode is passthrough */
bool bypassed;		/* health is HEALTH_BYPASS: the mapping is void */
byte nr_dirty;
#define KEEPS_DIRTY	(!abandoned)
#define IS_PASSTHROUGH	abandoned
#define IS_BYPASSED	bypassed
#define NR_DIRTY(n)	nr_dirty = nr_dirty + (n)
#elif defined(PASSTHROUGH)
#define KEEPS_DIRTY	false
#define IS_PASSTHROUGH	true
#else
#ifdef WRITEBACK_MODE
#define KEEPS_DIRTY	true
#else
#define KEEPS_DIRTY	false
#endif
#define IS_PASSTHROUGH	false
#endif
#ifndef ABANDON
#define IS_BYPASSED	false
#define NR_DIRTY(n)	skip
#endif

short word[NS];
bool units[NS];		/* a writer to both devices has them */
byte block[NS];		/* slot_block(); any number while the slot is free */
bool is_free[NS];	/* on the free list */
byte chain[NB];		/* the slot of the block in its bucket's chain */
bool locked[NB];	/* chain_lock */
byte gate[NB];
bool discarding[NB];

byte origin[NB];	/* the devices' contents */
byte fast[NS];
byte nr_suspects;

#if defined(AHEAD) || defined(ABANDON)
/*
 * There is one commit worker, so its work after a complete commit does not come
 * between two steps of another commit.
 */
bool working;
#define worker_begins()		atomic { !working -> working = true }
#define worker_ends()		working = false
#else
#define worker_begins()		skip
#define worker_ends()		skip
#endif

#ifdef AHEAD
bool on_disk[NS];	/* the durable dirty bit */
#define note_on_disk(s, v)	on_disk[s] = (v)
#else
#define note_on_disk(s, v)	skip
#endif

/* ---- The values that a read may return: a bit for each ---- */

byte allowed[NB];
byte in_flight[NB];	/* values being written */
byte during[NB];	/* values whose writes began while the read runs */

/* 0 and 1 are the blocks' first values; 2 and 3 come from the writers. */
#define DISCARDED	4
#define OLD		5	/* the origin's value of a dirty block */
byte overlap[5];	/* for each value in flight: the values that may replace it */

inline write_begins(b, v)
{
	d_step {
		overlap[v] = in_flight[b] | (1 << v);
		for (k : 2 .. 4) {
			if
			:: in_flight[b] & (1 << k) ->
				overlap[k] = overlap[k] | (1 << v)
			:: else
			fi
		}
		k = 0;
		in_flight[b] = in_flight[b] | (1 << v);
		allowed[b] = allowed[b] | (1 << v);
		during[b] = during[b] | (1 << v);
	}
}

/* The value that the write replaced may not be seen any more. */
inline write_ends(b, v)
{
	d_step {
		in_flight[b] = in_flight[b] & ~(1 << v);
		if
		:: in_flight[b] & (1 << DISCARDED)
		:: else ->
			allowed[b] = (allowed[b] & overlap[v]) | in_flight[b]
		fi;
		overlap[v] = 0;
	}
}

inline read_begins(b)
{
	d_step {
		may_see = allowed[b];
		during[b] = 0;
		quiet = !in_flight[b];
	}
}

inline read_ends(b, v)
{
	d_step {
		assert((may_see | during[b]) & (1 << v));	/* no stale read */
		if
		:: quiet && !during[b] -> allowed[b] = 1 << v
		:: else
		fi;
		may_see = 0;
		during[b] = 0;
		quiet = false;
	}
}

/* ---- cache-slots.h ---- */

/*
 * A walk is one step.  It finds the slot that is in the chain then.  If the chain is
 * empty the walker may stand on a slot that enters or leaves it, and in any case it
 * may stand on a free slot.
 */
#define is_stray(b, s)	(block[s] == b && (chain[b] == NONE || is_free[s]))

/* slot_map_find() */
inline find(b, s)
{
	if
	:: s = chain[b]
	:: atomic { is_stray(b, 0) -> s = 0 }
#if NS > 1
	:: atomic { is_stray(b, 1) -> s = 1 }
#endif
	fi
}

/* slot_try_change(); @ok says whether the word was changed. */
inline try_change(s, old, new, ok)
{
	d_step {
		if
		:: word[s] == (old) -> word[s] = new; ok = true
		:: else -> ok = false
		fi
	}
}

/* ---- Waiting ---- */

/*
 * The slots of the model have one bucket.  A piece of code under its lock is a step.
 * A process that is parked on no slot has NONE there, as one without a grant has.
 */
#define NR_PROCS	6
byte parked[NR_PROCS] = NONE;
byte granted[NR_PROCS] = NONE;	/* the slot, until the worker processes the bio */
bool waited[NR_PROCS];
#ifdef COUNT_WAITS
byte waits[NR_PROCS];		/* until a VALID slot has no pins, or opens */
#define COUNT_WAIT	waits[_pid]++; assert(waits[_pid] <= 3)
#define COUNT_NO_WAITS	waits[_pid] = 0
#else
#define COUNT_WAIT	skip
#define COUNT_NO_WAITS	skip
#endif
byte grant = NONE;		/* wait.granted: of the bio that the worker processes */
byte whose;
byte head = NONE;	/* the process that could not use its grant is the first */
byte ended;
#define MY_GRANT	(grant != NONE && whose == _pid)
/* cache_is_granted(), for a slot of this word that is closed */
#define IS_GRANTED(s, w)	(grant == (s) && whose == _pid && PINS(w) != PINS_FULL)

/*
 * cache_wait_for_slot(), and the worker that processes the bio again.  A grant of
 * another slot ends later, when others may have woken the bio already.
 */
inline wait_for_slot(s, old)
{
	if
	:: atomic { word[s] == (old) ->
		if
		:: STATE(old) == VALID -> COUNT_WAIT
		:: else
		fi;
		word[s] = word[s] | WAITERS;
		parked[_pid] = s;
		if
		:: MY_GRANT && grant == (s) -> grant = NONE; head = _pid
		:: else
		fi
	   };
	   end_grant();
	   begin_grant()
	:: word[s] != (old)
	fi
}

/* unpark_all() */
inline unpark_all(s)
{
	for (k : 1 .. NR_PROCS - 1) {
		if
		:: parked[k] == (s) -> parked[k] = NONE; waited[k] = true
		:: else
		fi
	}
	head = NONE;
	k = 0
}

/* cache_begin_grant(); the worker processes one bio at a time. */
inline begin_grant()
{
	atomic {
		parked[_pid] == NONE && (granted[_pid] == NONE || grant == NONE);
		if
		:: granted[_pid] != NONE ->
			grant = granted[_pid];
			whose = _pid;
			granted[_pid] = NONE;
#ifndef BUG_GRANT_WITHOUT_PIN
			word[grant] = word[grant] - PIN
#endif
		:: else
		fi
	}
}

#ifdef BUG_REOPENS
#define HAS_WAITED(i, s)	false
#else
#define HAS_WAITED(i, s)	(parked[i] == (s) && waited[i])
#endif

/* grant_or_open(); but for @head, the lowest number is the first. */
#define NO_GRANT(s)	(grant != (s) && granted[1] != (s) && granted[2] != (s) && \
			 granted[3] != (s) && granted[4] != (s) && granted[5] != (s))
inline grant_or_open(s)
{
	assert(NO_GRANT(s));
	k = 1;
	do
	:: k < NR_PROCS ->
		if
		:: HAS_WAITED(k, s) && (head == NONE || head == k) -> break
		:: else -> k++
		fi
	:: else -> break
	od;
	if
	:: k < NR_PROCS && PINS(word[s]) != PINS_FULL ->
		parked[k] = NONE;
		granted[k] = s;
		head = NONE;
#ifndef BUG_GRANT_WITHOUT_PIN
		word[s] = word[s] + PIN
#endif
	:: k < NR_PROCS && PINS(word[s]) == PINS_FULL
	:: else ->
		unpark_all(s);
#ifndef BUG_STAYS_CLOSED
		word[s] = word[s] & ~WAITERS
#endif
	fi;
	k = 0
}

#ifdef BUG_OPENS_DURING_GRANT
#define DURING_GRANT(s)	false
#else
#define DURING_GRANT(s)	(grant == (s))
#endif

/* cache_slot_released() */
inline release(s)
{
	if
	:: STATE(word[s]) != VALID || PINS(word[s]) || DURING_GRANT(s)
	:: else -> grant_or_open(s)
	fi
}

/* cache_end_grant() */
inline end_grant()
{
	d_step {
		if
		:: MY_GRANT ->
			ended = grant;
			grant = NONE;
			if
#ifndef BUG_GRANT_WITHOUT_END
			:: STATE(word[ended]) == VALID -> grant_or_open(ended)
#endif
			:: else
			fi;
			ended = 0
		:: else
		fi
	}
}

/* The worker has submitted the bio: its end may come first. */
inline may_end_grant()
{
	if
	:: MY_GRANT -> end_grant()
	:: true
	fi
}

/* A slot has lost @old, its state, with the waiters' flag. */
inline wake_if(s, old)
{
	if
	:: old & WAITERS ->
#ifndef BUG_NO_WAKE
		d_step { unpark_all(s) }
#else
		skip
#endif
	:: else
	fi
}

/* cache_unpin() */
inline unpin(s, unit)
{
	may_end_grant();
	d_step { old = word[s]; word[s] = old - (unit) };
	if
	:: (old & WAITERS) && PINS(old) == PIN ->
		may_end_grant();
		d_step { release(s) }
	:: else
	fi;
	old = 0
}

/* atomic_xchg() of the word; the caller wakes the waiters of @old. */
inline exchange(s, new)
{
	d_step {
		old = word[s];
		word[s] = new;
	}
}

/* ---- Chains and the free list ---- */

inline slot_alloc(s)
{
	d_step {
		s = NONE;
		if
		:: is_free[0] -> s = 0
#if NS > 1
		:: is_free[1] -> s = 1
#endif
		:: else
		fi;
		if
		:: s != NONE -> is_free[s] = false
		:: else
		fi
	}
}

/* The slot keeps its block number. */
inline slot_free(s)
{
#ifdef BUG_LINK_LIKE_BLOCK
	atomic {
		if
		:: block[s] = NONE
		:: block[s] = 0
		:: block[s] = 1
		fi;
		is_free[s] = true
	}
#else
	is_free[s] = true
#endif
}

inline chain_insert(s, b, first, ok)
{
	atomic { !locked[b] -> locked[b] = true };
	if
	:: chain[b] == NONE ->
		block[s] = b;
		word[s] = first;
		chain[b] = s;
		ok = true
	:: else -> ok = false
	fi;
	locked[b] = false
}

inline chain_remove(s, b)
{
	atomic { !locked[b] -> assert(chain[b] == s); chain[b] = NONE }
}

/* ---- cache-fill.c ---- */

/* publish_slot(): @sl is NONE if the promotion gave up. */
inline publish(b, sl)
{
	slot_alloc(sl);
	if
	:: sl == NONE
	:: else ->
		chain_insert(sl, b, FILLING, ok);
		if
		:: !ok -> slot_free(sl); sl = NONE
		:: else ->
			if
#ifdef BUG_FILL_SKIPS_GATE
			:: false
#else
			:: gate[b] || discarding[b] ->
				abort_fill(b, sl)
#endif
			:: else
			fi
		fi
	fi
}

/* cache_gate_unpublish() */
inline unpublish(b, sl)
{
	chain_remove(sl, b);
	exchange(sl, FREE);
	wake_if(sl, old);
	old = 0
}

inline abort_fill(b, sl)
{
	unpublish(b, sl);
	slot_free(sl);
	sl = NONE
}

/* fill_committed(), in the commit worker, which the process leaves here */
inline publish_filled(sl, marks)
{
	if
	:: (marks) & DIRTY -> NR_DIRTY(1)
	:: else
	fi;
	note_on_disk(sl, (marks) != 0);
	exchange(sl, VALID | (marks));
	worker_ends();
	wake_if(sl, old);
	old = 0
}

inline fill_committed(sl, marks)
{
	worker_begins();
	publish_filled(sl, marks)
}

/*
 * A promotion for which no bio waits here: after a writethrough write, or started by
 * a writeback write that is mapped again.
 */
proctype Fill(byte b)
{
	byte k, slot = NONE, data;
	short old;
	bool ok;

	publish(b, slot);
	if
	:: slot == NONE
	:: else ->
		data = origin[b];
		if
		:: fast[slot] = data;
			if
			:: fill_committed(slot, 0)
			:: KEEPS_DIRTY -> fill_committed(slot, INTENT)
			fi
		:: abort_fill(b, slot)	/* the origin cannot be read */
		:: unpublish(b, slot)	/* retire_slot(): the slot is not used again */
		fi
	fi
}

/* ---- cache-evict.c ---- */

/* claim_slot(), which finds the block under policy.lock: one step here. */
inline claim(s, b, dirty_too, ok)
{
	d_step {
		ok = false;
		if
		:: (b == NONE || block[s] == b) && STATE(word[s]) == VALID &&
#ifndef BUG_EVICT_PINNED
		   !PINS(word[s]) &&
#endif
		   (dirty_too || !(word[s] & DIRTY)) ->
			word[s] = (word[s] & ~(7 | DIRTY)) | EVICTING;
			evicted = block[s];
			ok = true
		:: else
		fi
	}
}

/* unmap_committed() */
inline unmap(s)
{
	assert(!PINS(word[s]) && !WRITERS(word[s]) && STATE(word[s]) == EVICTING);
	worker_begins();
	note_on_disk(s, false);
	chain_remove(s, evicted);
	exchange(s, FREE);
	slot_free(s);
	worker_ends();
	wake_if(s, old);
	old = 0;
	evicted = 0
}

proctype Evict()
{
	byte k, s, evicted;
	short old;
	bool ok;

	if
	:: s = 0
#if NS > 1
	:: s = 1
#endif
	fi;
	claim(s, NONE, false, ok);
	if
	:: ok -> unmap(s)
	:: else
	fi
}

/* ---- cache-writeback.c ---- */

/* leave_writeback(): a closed slot stays closed */
inline settle(s)
{
	d_step {
		old = word[s];
		word[s] = (old & ~7) | VALID;
	}
	if
	:: old & WAITERS ->
#ifndef BUG_NO_RELEASE
		d_step { release(s) }
#else
		skip
#endif
	:: else
	fi;
	old = 0
}

proctype Writeback()
{
	byte k, s, b, data;
	short old;
	bool ok;

	if
	:: s = 0
#if NS > 1
	:: s = 1
#endif
	fi;
	/* begin_copy() */
	d_step {
		ok = false;
		if
		:: STATE(word[s]) == VALID && (word[s] & DIRTY) &&
		   !WRITERS(word[s]) ->
			word[s] = ((word[s] & ~7) | WRITEBACK) & ~TOUCHED;
			ok = true
		:: else
		fi
	}
	if
	:: ok ->
		b = block[s];
		data = fast[s];
		if
		:: origin[b] = data;
			/* clear_marks() */
			d_step {
				if
#ifdef BUG_CLEAR_THOUGH_TOUCHED
				:: true ->
#else
				:: !(word[s] & TOUCHED) && !WRITERS(word[s]) ->
#endif
					word[s] = word[s] & ~(DIRTY | INTENT);
					/* durable no later than the next op in the queue */
					note_on_disk(s, false)
				:: else -> ok = false
				fi
			}
		:: ok = false	/* an I/O error */
		fi;
		settle(s);
		if
		:: ok -> NR_DIRTY(-1)
		:: else
		fi
	:: else
	fi
}

/* ---- cache-io.c ---- */

/*
 * cache_drop_block(): @ok is true if the block is gone, or will be if the caller is
 * about to read the origin; false if the slot's contents are needed.  A bio that
 * has waited begins again.
 */
inline drop_block(b, reads)
{
	do
	:: find(b, slot);
		if
		:: slot == NONE -> ok = true; break
		:: else
		fi;
		w = word[slot];
		if
		:: block[slot] != b || STATE(w) == FREE
		:: else ->
			if
			:: reads && (STATE(w) == EVICTING || STATE(w) == FILLING) ->
				ok = true;
				break
#ifndef BUG_DROP_DIRTY
			:: w & DIRTY -> ok = false; break
#endif
			:: else
			fi;
			ok = false;
			if
			:: STATE(w) == VALID -> claim(slot, b, DROPS_DIRTY, ok)
			:: else
			fi;
			if
			:: ok -> end_grant(); unmap(slot)
			:: !ok && (STATE(w) != VALID || PINS(w)) ->
				wait_for_slot(slot, w)
			:: else
			fi
		fi
	od;
	w = 0
}

proctype Reader(byte times)
{
	byte k, b, slot = NONE, v, may_see, evicted;
	short old, w;
	bool ok, missed, quiet;

again:
	if
	:: times == 0 -> goto done
	:: else -> times--
	fi;
	if
	:: b = 0
#ifdef READ_BOTH
	:: b = 1
#endif
	fi;
	missed = false;
	waited[_pid] = false;
	read_begins(b);

retry:
	find(b, slot);
	/* slot_is_needed() */
	if
	:: IS_PASSTHROUGH && (slot == NONE || IS_BYPASSED || !(word[slot] & DIRTY)) ->
		goto read_origin
	:: else
	fi;
	if
	:: slot == NONE ->
		if
		:: goto read_origin
#ifdef READ_FILLS
		:: !missed -> missed = true; goto promote
#endif
		fi
	:: else
	fi;
	w = word[slot];
	if
	:: STATE(w) == FREE -> goto retry
	:: STATE(w) == FILLING || STATE(w) == EVICTING ->
#ifndef BUG_TRANSIT_NO_COMPARE
		if
		:: block[slot] != b -> goto retry
		:: else
		fi;
#endif
		goto read_origin
	:: else
	fi;
	/* slot_is_closed() */
	if
	:: (PINS(w) == PINS_FULL || ((w & WAITERS) && STATE(w) == VALID)) &&
	   !IS_GRANTED(slot, w) ->
		wait_for_slot(slot, w);
		goto retry
	:: else
	fi;
	try_change(slot, w, w + PIN, ok);
	if
	:: !ok -> goto retry
	:: else
	fi;
#ifndef BUG_PIN_NO_COMPARE
	if
	:: block[slot] != b -> unpin(slot, PIN); goto retry
	:: else
	fi;
#endif
#ifdef READ_ERRORS
	if
	:: skip
	:: goto failed
	fi;
#endif
	v = fast[slot];
	unpin(slot, PIN);
	end_grant();
	goto end;

#ifdef READ_ERRORS
failed:
	/* end_read() */
	w = word[slot];
	unpin(slot, PIN);
	end_grant();
#ifdef BUG_READ_ORIGIN_OF_DIRTY
	goto read_origin;
#endif
	if
	:: w & DIRTY -> goto error
	:: else
	fi;
	drop_block(b, true);
	end_grant();
	if
	:: ok -> goto read_origin
	:: else -> goto error
	fi;
error:
	may_see = 0;
	d_step { during[b] = 0; quiet = false; v = 0; slot = NONE; w = 0 };
	goto again;
#endif

promote:
	end_grant();
	publish(b, slot);
	if
	:: slot == NONE -> goto retry
	:: else
	fi;
	v = origin[b];
	read_ends(b, v);	/* serve_reader() */
	fast[slot] = v;
	fill_committed(slot, 0);
	v = 0; slot = NONE; w = 0;
	goto again;

read_origin:
	end_grant();
	v = origin[b];
end:
	read_ends(b, v);
	v = 0; slot = NONE; w = 0;
	goto again;
done:
	skip
}

#if defined(COUNT_WAITS) || defined(PINNERS)
/* Readers or writers of block 0, of which only the pins are modelled. */
proctype Pinner(byte times; short unit)
{
	byte k, slot = NONE;
	short old, w;
	bool ok;

	do
	:: times == 0 -> break
	:: times ->
		find(0, slot);
		if
		:: slot == NONE -> times--; end_grant(); w = FREE
		:: else -> w = word[slot]
		fi;
		if
		:: STATE(w) != VALID
		:: STATE(w) == VALID &&
		   (PINS(w) == PINS_FULL || (w & WAITERS)) && !IS_GRANTED(slot, w) ->
			wait_for_slot(slot, w)
		:: else ->
			try_change(slot, w, w + unit, ok);
			if
			:: ok ->
				times--;
				unpin(slot, unit);
				end_grant();
				d_step { waited[_pid] = false; COUNT_NO_WAITS }
			:: else
			fi
		fi
	od;
	slot = NONE; w = 0
}
#endif

/* count_dirty(): @counted is true if the write makes the slot dirty. */
inline count_dirty(w)
{
	counted = false;
	if
	:: (w & DIRTY) || !KEEPS_DIRTY
	:: else ->
#ifdef ABANDON
#ifdef BUG_COUNTED_TOO_LATE
		counted = KEEPS_DIRTY;
		NR_DIRTY(1)
#else
		NR_DIRTY(1);
		counted = KEEPS_DIRTY
#endif
		if
		:: !counted -> NR_DIRTY(-1)
		:: else
		fi
#else
		counted = true
#endif
	fi
}

inline give_units()
{
	d_step {
		if
		:: has_units -> units[slot] = false; has_units = false
		:: else
		fi
	}
}

proctype Writer(byte b; byte v)
{
	byte k, slot = NONE, evicted;
	short old, w;
	bool ok, counted, both, has_units;

	write_begins(b, v);

retry:
	find(b, slot);
	if
	:: slot == NONE ->
		if
#ifdef WRITEBACK_MODE
		:: KEEPS_DIRTY -> goto overwrite	/* promote_overwrite() */
#endif
		:: skip
		fi;
		/* cache_gate_enter() */
		gate[b]++;
#ifndef BUG_GATE_NO_SECOND_LOOK
		find(b, slot);
		if
		:: slot != NONE -> gate[b]--; goto retry
		:: else
		fi;
#endif
		end_grant();
#ifdef BUG_GATE_LEFT_EARLY
		gate[b]--;
		origin[b] = v;
#else
		origin[b] = v;
		gate[b]--;
#endif
		goto done
	:: else
	fi;

	w = word[slot];
	if
	:: STATE(w) == FREE -> goto retry
	:: STATE(w) == FILLING || STATE(w) == EVICTING ->
		wait_for_slot(slot, w);
		goto retry
	:: else
	fi;

	/* write_past_slot() */
	if
	:: IS_PASSTHROUGH && IS_BYPASSED -> end_grant(); origin[b] = v; goto done
	:: IS_PASSTHROUGH && !IS_BYPASSED && !(w & DIRTY) ->
#ifdef BUG_PASSTHROUGH_KEEPS
		origin[b] = v;
		goto done;
#endif
		claim(slot, b, false, ok);
		if
		:: ok -> end_grant(); unmap(slot)
		:: !ok && (STATE(w) != VALID || PINS(w)) -> wait_for_slot(slot, w)
		:: else
		fi;
		goto retry
	:: else
	fi;

	/* slot_is_closed(), cache_claim_both() */
	both = !KEEPS_DIRTY;
	if
	:: ((PINS(w) == PINS_FULL || (w & WAITERS)) && !IS_GRANTED(slot, w)) ||
	   (both && WRITERS(w) && ((w & DIRTY) || IS_PASSTHROUGH)) ||
	   (both && STATE(w) == WRITEBACK) ->
		wait_for_slot(slot, w);
		goto retry
	:: else
	fi;

	/* take_units(): all writers here overlap; units.pml has the waiting */
	if
#ifndef BUG_WRITERS_OVERLAP
	:: both ->
		if
		:: atomic { !units[slot] -> units[slot] = true; has_units = true }
		:: units[slot] -> goto retry
		fi
#endif
	:: else
	fi;

	/* pin_for_write(): an intent lets the write set the mark at once */
	counted = false;
	if
	:: w & INTENT -> count_dirty(w)
	:: else
	fi;
	try_change(slot, w, (w + PIN + WRITER) | TOUCHED | (counted -> DIRTY : 0), ok);
	if
	:: !ok ->
		if
		:: counted -> NR_DIRTY(-1)
		:: else
		fi;
		give_units();
		goto retry
	:: else
	fi;
	if
	:: block[slot] != b -> give_units(); unpin(slot, PIN + WRITER); goto retry
	:: else
	fi;
	if
	:: w & INTENT
	:: else ->	/* wait_for_intent(), intent_done() */
		may_end_grant();
		worker_begins();
		if
#ifndef BUG_MODE_CHANGE_MISSED
		:: IS_PASSTHROUGH ->
			worker_ends();
			give_units();
			unpin(slot, PIN + WRITER);
			end_grant();
			goto retry
#endif
		:: else
		fi;
		w = word[slot];
		count_dirty(w);
		d_step {
			if
			:: counted && (word[slot] & DIRTY) -> NR_DIRTY(-1)
			:: else
			fi;
			note_on_disk(slot, true);
			word[slot] = word[slot] | INTENT | (counted -> DIRTY : 0)
		}
		worker_ends()
	fi;
#ifdef AHEAD
	assert(on_disk[slot]);
#endif

	/* issue_write() */
	if
	:: KEEPS_DIRTY -> fast[slot] = v
	:: !KEEPS_DIRTY -> fast[slot] = v; origin[b] = v
	:: !KEEPS_DIRTY -> origin[b] = v; fast[slot] = v
#ifdef FAST_ERRORS
	:: !KEEPS_DIRTY -> origin[b] = v; goto suspect
#endif
	fi;
	give_units();
	unpin(slot, PIN + WRITER);
	end_grant();
	goto done;

#ifdef FAST_ERRORS
suspect:
	/* end_both(), cache_drop_then_end(): gone before it is acknowledged */
	nr_suspects++;
	give_units();
	unpin(slot, PIN + WRITER);
	end_grant();
#ifndef BUG_NO_DROP
	drop_block(b, false);
	end_grant();
	assert(ok);
#endif
	nr_suspects--;
	goto done;
#endif

#ifdef WRITEBACK_MODE
overwrite:
	end_grant();
	publish(b, slot);
	if
	:: slot == NONE -> goto retry
	:: else
	fi;
	fast[slot] = v;
	worker_begins();
	if
	:: IS_BYPASSED ->	/* take_back(): nothing is committed any more */
		worker_ends();
		abort_fill(b, slot);
		goto retry
	:: else
	fi;
	publish_filled(slot, INTENT | DIRTY);
#endif
done:
	slot = NONE; w = 0;
	write_ends(b, v)
}

#ifdef AHEAD
/* ---- cache-intents.c: setting ahead ---- */

proctype Ahead()
{
	byte s;
	bool chosen;

	if
	:: s = 0
#if NS > 1
	:: s = 1
#endif
	fi;
#ifndef BUG_TWO_COMMIT_WORKERS
	worker_begins();
#endif
	chosen = STATE(word[s]) == VALID && !(word[s] & INTENT);
	if
	:: chosen ->
#ifdef BUG_AHEAD_UNCOMMITTED
		skip;
#else
		/* Only a mapped slot has a dirty bit. */
		assert(chain[block[s]] == s);
		on_disk[s] = true;
#endif
		/* ahead_mark() */
		d_step {
			if
			:: STATE(word[s]) == VALID || STATE(word[s]) == WRITEBACK ->
				word[s] = word[s] | INTENT
			:: else
			fi
		}
	:: else
	fi;
#ifndef BUG_TWO_COMMIT_WORKERS
	worker_ends()
#else
	skip
#endif
}
#endif

#ifdef ABANDON
/*
 * ---- cache-degrade.c: fast_failed() and cache_metadata_failed(), in the commit worker ----
 *
 * A worker beside it could decide between the commit of a fill and fill_committed().
 */

proctype Abandon()
{
#ifndef BUG_DECIDES_ELSEWHERE
	worker_begins();
#endif
	if
	:: nr_dirty -> abandoned = true		/* abandon_fast() */
	:: else ->
		/* stop_dirtying() */
		abandoned = true;
		if
#ifdef BUG_NO_SECOND_COUNT
		:: true ->
#else
		:: !nr_dirty ->
#endif
			bypassed = true		/* give_up() */
		:: else
		fi
	fi;
#ifndef BUG_DECIDES_ELSEWHERE
	worker_ends()
#else
	skip
#endif
}
#endif

/* A discard of block @b that is passed down to the origin. */
proctype Discard(byte b)
{
	byte k, slot = NONE, evicted;
	short old, w;
	bool ok;

	/* A read beside the discard may return any value. */
	write_begins(b, DISCARDED);
	d_step {
		allowed[b] = 63;
		during[b] = 63;
	}
#ifndef BUG_DISCARD_NOT_LISTED
	discarding[b] = true;
#endif
look:
	find(b, slot);
	if
	:: slot == NONE -> goto unmapped
	:: else
	fi;
	w = word[slot];
	if
	:: block[slot] != b || STATE(w) == FREE -> goto look
	:: else
	fi;
	if
	:: STATE(w) == VALID ->
		claim(slot, b, true, ok);
		if
		:: ok -> end_grant(); unmap(slot); goto look
		:: else
		fi
	:: else
	fi;
	if
	:: STATE(w) != VALID || PINS(w) -> wait_for_slot(slot, w)
	:: else
	fi;
	goto look;
unmapped:
	end_grant();
	origin[b] = DISCARDED;
	discarding[b] = false;
	slot = NONE; w = 0;
	write_ends(b, DISCARDED)
}

/* No process waits any more, and each block has its last value. */
inline last_words()
{
	for (k : 0 .. NB - 1) {
		assert(!gate[k] && !discarding[k] && !locked[k]);
		if
		:: IS_BYPASSED -> assert(allowed[k] & (1 << origin[k]))
		:: !IS_BYPASSED && chain[k] != NONE ->
			s = chain[k];
			assert(block[s] == k && STATE(word[s]) == VALID);
			assert(!PINS(word[s]) && !WRITERS(word[s]) && !(word[s] & WAITERS));
			assert(allowed[k] & (1 << fast[s]));
			assert((word[s] & DIRTY) || origin[k] == fast[s]);
			assert(!(word[s] & DIRTY) || (word[s] & INTENT))
		:: else ->
			assert(allowed[k] & (1 << origin[k]))
		fi
	}
}

init
{
	byte k, s;

	atomic {
		for (k : 0 .. NB - 1) {
			origin[k] = k;
			chain[k] = NONE;
			allowed[k] = 1 << k;
		}
		for (k : 0 .. NS - 1) {
			is_free[k] = true;
			block[k] = NONE;
		}
#ifdef LOADED
		/* Block 0 was loaded from the disk. */
		is_free[0] = false;
		block[0] = 0;
		word[0] = LOADED;
		chain[0] = 0;
		fast[0] = 0;
		if
		:: LOADED & DIRTY -> origin[0] = OLD
		:: else
		fi;
#endif
#ifdef ABANDON
		if
		:: true
		:: nr_dirty++		/* another block */
		fi;
		if
		:: LOADED & DIRTY -> nr_dirty++
		:: else
		fi;
#endif
		k = 0;
		PROCESSES;
	}
	_nr_pr == 1;
	last_words()
}
