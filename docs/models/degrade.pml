/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way down when the metadata fails: dm-target/cache-degrade.c with the parts of
 * cache-commit.c, cache-io.c, cache-evict.c and cache-writeback.c that a failing
 * commit reaches, for spin.
 *
 * One origin block and one slot; of other blocks there is only their number, dirty or
 * not.  The metadata on the disk is a mapping and a dirty bit.  From some instant on
 * the device refuses writes (the process Meta), and may answer again later.  A commit
 * that fails may have reached the disk all the same.
 *
 * Power goes at any instant (the process Cut), and whoever starts then reads what is
 * on the disk.  As in dirty.pml:
 *   I1  mapped: what is in the slot is a value that may be seen
 *   I2  mapped and clean: both copies are equal
 *       not mapped: what is on the origin is a value that may be seen
 * That is not promised once fail_open let writes go on without a fence; what holds
 * then is that an engine of the same module starts with an empty cache, so that what
 * is on the origin may be seen.  A read returns a value that may be seen at some
 * moment between its beginning and its end.  No bio waits for ever.
 *
 * A write that was refused may be seen or not, until another one is acknowledged.
 *
 * When no commit can say that a block is clean, because the metadata cannot be
 * written or the cache device cannot flush, it goes home all the same: COMMIT_HOME.
 * The disk goes on to call it dirty, so another start takes what the slot has, fence
 * or not: a write to it reaches both devices or none.
 *
 * Left out: what volatile caches lose (dirty.pml), so that of a cache device that
 * cannot flush there is only what the engine does then; a cache device that fails
 * writes (slots.pml); promotions; two tables on one engine.
 *
 * CASE says what takes part, BUG_... makes a variant that must fail.
 */

#define UNMAPPED	0
#define MAPPED_CLEAN	1
#define MAPPED_INTENT	2	/* dirty on the disk, and not in memory */
#define MAPPED_DIRTY	3

#define FAIL_OPEN	true

#if CASE == 1		/* nothing is dirty: the fence, or writes go on without one */
#define MODE		WT
#define BEGIN		MAPPED_CLEAN
#define PROCESSES	run Writer(2); run Writer(3); run Evict(); run Meta(false)
#elif CASE == 2		/* the same in writeback, where the block may become dirty */
#define MODE		WB
#define BEGIN		MAPPED_CLEAN
#define PROCESSES	run Writer(2); run Writer(3); run Meta(false)
#elif CASE == 3		/* HOLDING, until the device answers again */
#define MODE		WT
#undef FAIL_OPEN
#define FAIL_OPEN	false
#define BEGIN		MAPPED_CLEAN
#define PROCESSES	run Writer(2); run Evict(); run Reader(); run Meta(true)
#elif CASE == 4		/* HOLDING, until fail_open is set */
#define MODE		WT
#undef FAIL_OPEN
#define FAIL_OPEN	false
#define BEGIN		MAPPED_INTENT
#define PROCESSES	run Writer(2); run Reader(); run Evict(); run Meta(false); \
			run SetFailOpen()
#elif CASE == 5		/* HOLDING, and the table is suspended */
#define MODE		WT
#undef FAIL_OPEN
#define FAIL_OPEN	false
#define BEGIN		MAPPED_CLEAN
#define PROCESSES	run Writer(2); run Evict(); run Meta(true); run Suspend()
#elif CASE == 6		/* READ_ONLY: another block becomes dirty, this one is not */
#define MODE		WB
#define BEGIN		MAPPED_CLEAN
#define PROCESSES	run Writer(2); run Evict(); run Other(); run Meta(true)
#elif CASE == 7		/* READ_ONLY: this one is dirty, and was on its way home */
#define MODE		WB
#define BEGIN		MAPPED_DIRTY
#define PROCESSES	run Writer(2); run Reader(); run Writeback(); run Meta(true)
#elif CASE == 8		/* the same in writethrough: left dirty by a writeback table */
#define MODE		WT
#define BEGIN		MAPPED_DIRTY
#define PROCESSES	run Writer(2); run Writer(3); run Writeback(); run Meta(true)
#elif CASE == 9		/* home without a commit, and then the cache device is dead */
#define MODE		WB
#define BEGIN		MAPPED_DIRTY
#define META_WORKS	false
#define PROCESSES	run Writer(2); run Writeback(); run OtherCommit(); run FastDies()
#elif CASE == 10	/* the same, seen by an eviction */
#define MODE		WT
#define BEGIN		MAPPED_DIRTY
#define PROCESSES	run Writer(2); run Writeback(); run Meta(true); run Evict()
#elif CASE == 11	/* the cache device cannot flush, and then the metadata fails */
#define MODE		WB
#define BEGIN		MAPPED_DIRTY
#define PROCESSES	run Writer(2); run Writeback(); run FlushFails(); run Meta(false)
#endif
#ifndef META_WORKS
#define META_WORKS	true
#endif

/* ---- The devices, and the metadata on the disk ---- */

#define FIRST		0	/* what the block held in the beginning, */
#define NEWER		1	/* or in the slot, if that was dirty */

byte fast, origin;
bool mapped, dirty;
bool meta_works = META_WORKS;

/* ---- What may be seen ---- */

byte allowed, in_flight;
byte during;		/* by the read that is under way */
byte overlap[4];

inline write_begins(v)
{
	d_step {
		overlap[v] = in_flight | (1 << v);
		if
		:: in_flight & (1 << (5 - v)) ->
			overlap[5 - v] = overlap[5 - v] | (1 << v)
		:: else
		fi;
		in_flight = in_flight | (1 << v);
		allowed = allowed | (1 << v);
		during = during | (1 << v)
	}
}

/* Acknowledged: what was there before it began is over. */
inline write_ends(v)
{
	d_step {
		in_flight = in_flight & ~(1 << v);
		allowed = (allowed & overlap[v]) | in_flight;
		overlap[v] = 0
	}
}

inline write_fails(v)
{
	d_step { in_flight = in_flight & ~(1 << v); overlap[v] = 0 }
}

#define MAY_BE_SEEN(v)	(allowed & (1 << (v)))

/* ---- The engine ---- */

mtype = { GOOD, READ_ONLY, HOLDING, BYPASS };
mtype = { WT, WB, PT };		/* writethrough, writeback, passthrough */

mtype health = GOOD;
mtype mode = MODE;
bool fail_open = FAIL_OPEN;
bool unfenced;			/* the metadata could not be made void ... */
bool distrusted;		/* ... and its session is remembered */
bool quiescing, suspending;	/* a suspend has begun */
bool gone;			/* and ended: another engine may have the metadata */
byte nr_dirty;
bool flush_failed;		/* the cache device cannot flush */
bool fast_dead;			/* only dirty blocks are still asked of it */
bool unsaid;			/* went_home_unsaid */

#define KEEPS_DIRTY	(mode == WB)
#define WRITABLE	(health == GOOD)

/* The slot's word: marks, a state, pins of readers and of writers. */
#define DIRTY		1
#define INTENT		2
#define TOUCHED		4
#define STATE(w)	((w) & 24)
#define VALID		0
#define WRITEBACK	8
#define EVICTING	16
#define FREE		24
#define WRITER		32
#define WRITERS(w)	((w) & 224)
#define READER		256
#define PINS(w)		((w) >> 5)

short word;
bool units;		/* of writers to both devices; all overlap here */

inline try_change(old, new, ok)
{
	d_step {
		if
		:: word == (old) -> word = (new); ok = true
		:: else -> ok = false
		fi
	}
}

/* ---- Bios that wait for the outcome ---- */

mtype = { GOES, HELD, TAKEN, FAILED };
mtype held[4] = GOES;
bool degrade_queued, degrading;

inline take_held()
{
	d_step {
		if :: held[2] == HELD -> held[2] = TAKEN :: else fi;
		if :: held[3] == HELD -> held[3] = TAKEN :: else fi
	}
}

inline end_taken_now(how)
{
	if :: held[2] == TAKEN -> held[2] = how :: else fi;
	if :: held[3] == TAKEN -> held[3] = how :: else fi
}

inline end_taken(how)
{
	d_step { end_taken_now(how) }
}

/* release_held(); whether a suspend has begun is looked at under held_lock. */
inline release_held()
{
	if
	:: health != HOLDING -> end_taken(GOES)
	:: else ->
#ifdef BUG_LOOK_THEN_HOLD
		if
		:: suspending -> end_taken(FAILED)
		:: else -> end_taken(HELD)
		fi
#else
		d_step {
			if
#ifndef BUG_SUSPEND_NOT_SEEN
			:: suspending -> end_taken_now(FAILED)
#endif
			:: else -> end_taken_now(HELD)
			fi
		}
#endif
	fi
}

/* ---- cache-degrade.c, in the worker ---- */

/* The empty mapping, the wiped superblock, or neither. */
inline make_fence()
{
	if
	:: meta_works -> mapped = false; fenced = true
	:: mapped = false; fenced = false	/* refused, and there all the same */
	:: fenced = false
	fi
}

inline go_without_fence()
{
#ifndef BUG_NO_DISTRUST
	distrusted = true;
#endif
	unfenced = true;
	if
	:: fail_open -> health = BYPASS
#ifdef BUG_HOLDS_NOTHING
	:: else -> health = BYPASS
#else
	:: else -> health = HOLDING
#endif
	fi
}

inline give_up()
{
	mode = PT;
#ifdef BUG_NO_FENCE
	health = BYPASS;
#else
#ifdef BUG_HEALTH_BEFORE_FENCE
	health = BYPASS;
#endif
	make_fence();
	if
	:: fenced -> health = BYPASS
#ifndef BUG_FENCE_IGNORES_HOME
	:: !fenced && unsaid -> health = READ_ONLY	/* refuse_writes() */
	:: !fenced && !unsaid -> go_without_fence()
#else
	:: else -> go_without_fence()
#endif
	fi
#endif
}

/* cache_set_failed_mode() */
inline set_failed_mode()
{
	if
	:: health == READ_ONLY && !fast_dead -> mode = WT
	:: else -> mode = PT
	fi
}

inline metadata_failed()
{
	if
	:: nr_dirty -> fenced = false
	:: else ->
		/* stop_dirtying(); slots.pml has more of it */
		mode = PT;
		fenced = (nr_dirty == 0)
	fi;
#ifdef BUG_GIVEN_UP_THOUGH_DIRTY
	fenced = true;
#endif
	if
	:: fenced -> fenced = false; give_up()
	:: else -> health = READ_ONLY; set_failed_mode()
	fi;
	fenced = false
}

/* fast_failed() of a cache device that cannot flush, or is dead */
inline fast_failed()
{
	if
	:: WRITABLE && !nr_dirty ->
		mode = PT;
		fenced = (nr_dirty == 0)
	:: else
	fi;
	if
	:: fenced -> fenced = false; give_up()
	:: else -> fast_dead = true; set_failed_mode()
	fi;
	fenced = false
}

inline retry_fence()
{
	if
	:: meta_works ->
		assert(!gone);
		mapped = false;
		unfenced = false;
		health = BYPASS
	:: else
	fi
}

/* ---- cache-commit.c ---- */

#define SET_DIRTY	1
#define CLEAR_DIRTY	2
#define UNMAP		3
#define HOME		4
#define UNFLUSHED	5	/* a CLEAR_DIRTY that fail_unflushed() ends */
#define BARRIER		6

mtype = { WAITS, DONE, REFUSED };

chan queue = [4] of { byte, byte };
chan group = [4] of { byte, byte };
mtype ended[10] = WAITS;	/* op->done(), for each process */

/* Refused or not, then in @error. */
inline commit(kind, error)
{
	queue!kind, _pid;
	committed(error)
}

inline committed(error)
{
	atomic {
		ended[_pid] != WAITS;
		error = (ended[_pid] == REFUSED);
		ended[_pid] = WAITS
	}
}

inline apply(kind)
{
	if
	:: kind == SET_DIRTY -> assert(mapped); new_dirty = true
	:: kind == CLEAR_DIRTY -> new_dirty = false
	:: kind == UNMAP -> new_mapped = false; new_dirty = false
	:: else
	fi
}

inline reaches_disk()
{
	d_step { mapped = new_mapped; dirty = new_dirty }
}

/* The workqueue for commits: cache_commit_work() and cache_degrade_work(). */
active proctype Worker()
{
	byte kind, owner, i;
	bool new_mapped, new_dirty, fenced, refused;

end:
	do
	:: d_step { len(queue) > 0 ->
		do
		:: len(queue) > 0 -> queue?kind, owner; group!kind, owner
		:: else -> break
		od;
		refused = !WRITABLE;
		new_mapped = mapped;
		new_dirty = dirty;
		for (i : 1 .. len(group)) {
			group?kind, owner;
			if
			:: kind == CLEAR_DIRTY && flush_failed -> kind = UNFLUSHED
			:: else
			fi;
			if
			:: !refused -> apply(kind)
			:: else
			fi;
			group!kind, owner
		}
		i = 0; kind = 0; owner = 0
	   }
		if
		:: refused
		:: !refused && meta_works -> reaches_disk()
		:: !refused && !meta_works ->
			if
			:: reaches_disk()
			:: true
			fi;
			refused = true;
			metadata_failed()
		fi;
		d_step {
			do
			:: len(group) > 0 ->
				group?kind, owner;
				/* complete_home() */
#ifdef BUG_HOME_REFUSED
				ended[owner] = (refused || kind == UNFLUSHED ->
						REFUSED : DONE)
#else
				ended[owner] = ((refused && kind != HOME) ||
						kind == UNFLUSHED -> REFUSED : DONE)
#endif
			:: else -> break
			od;
			owner = 0; kind = 0; refused = false; new_mapped = false;
			new_dirty = false
		}
	:: (flush_failed || fast_dead) && (WRITABLE || health == READ_ONLY) &&
	   (!fast_dead || (WRITABLE && !nr_dirty)) ->
		fast_failed()
	:: d_step { degrade_queued || (unfenced && meta_works && !quiescing) ->
		degrade_queued = false;
		degrading = true
	   }
		take_held();
		if
		:: unfenced && !quiescing -> retry_fence()
		:: else
		fi;
		release_held();
		degrading = false
	od
}

/* ---- cache-evict.c ---- */

#define MAY_UNMAP(w)	(STATE(w) == VALID && !PINS(w) && !((w) & DIRTY))

/* cache_begin_unmap() to unmap_committed(); @ok: it was begun, and has ended. */
inline unmap(w, ok, error)
{
	ok = false;
	if
	:: MAY_UNMAP(w) ->
		try_change(w, w | EVICTING, ok);
		if
		:: ok ->
			commit(UNMAP, error);
			d_step {
				if
				:: !error -> word = FREE
#ifdef BUG_UNMAP_FAILED_FREES
				:: else -> word = FREE
#else
				/* Whether the disk still has the bit, nobody knows. */
				:: else -> word = VALID
#endif
				fi;
				error = false
			}
		:: else
		fi
	:: else
	fi
}

proctype Evict()
{
	short w;
	bool ok, error;

	w = word;
	unmap(w, ok, error)
}

/* ---- cache-writeback.c ---- */

/* cache_may_go_home() */
#define MAY_GO_HOME	(WRITABLE || health == READ_ONLY)

/* Once more if it failed: then it has to go home, whatever the commits do. */
proctype Writeback()
{
	short w;
	bool ok, error;
	byte copy, kind, tries;

again:
	tries++;
	ok = false;
	w = word;
	if
	:: STATE(w) == VALID && (w & DIRTY) && !WRITERS(w) && MAY_GO_HOME ->
		try_change(w, (w | WRITEBACK) & ~TOUCHED, ok)
	:: else
	fi;
	if
	:: ok
	:: else -> goto done
	fi;
	copy = fast;
	origin = copy;
	/* queue_clean() */
	if
	:: WRITABLE && !flush_failed -> kind = CLEAR_DIRTY
	:: else -> unsaid = true; kind = HOME
	fi;
	/* clear_marks() or clear_dirty(), and queued in the same step */
	d_step {
		if
#ifdef BUG_HOME_THOUGH_TOUCHED
		:: ((word & TOUCHED) || WRITERS(word)) && kind != HOME ->
#else
		:: (word & TOUCHED) || WRITERS(word) ->
#endif
			ok = false;
			word = word & ~WRITEBACK
		:: else ->
			word = word & ~(kind == HOME -> DIRTY : DIRTY | INTENT);
#ifndef BUG_QUEUED_LATER
			queue!kind, _pid
#endif
		fi
	}
	if
	:: ok
	:: else -> goto done
	fi;
#ifdef BUG_QUEUED_LATER
	queue!kind, _pid;
#endif
	committed(error);
	/* writeback_committed(), leave_writeback() */
	d_step {
		if
		:: error ->
			if
			:: !(word & DIRTY) -> nr_dirty++
			:: else
			fi;
#ifdef BUG_INTENT_AFTER_FAILED_CLEAR
			word = word | DIRTY | INTENT
#else
			word = word | DIRTY | (WRITABLE -> INTENT : 0)
#endif
		:: else
		fi;
		word = word & ~WRITEBACK
	}
	nr_dirty--;
	if
	:: error && tries < 3 -> error = false; goto again
	:: error && tries == 3 -> assert(false)
	:: else
	fi;
done:
	skip
}

/* ---- cache-io.c ---- */

/* Whether a write makes the slot dirty that has this word. */
inline count_dirty(w)
{
	counted = false;
	if
	:: !(w & DIRTY) && KEEPS_DIRTY ->
		nr_dirty++;
		if
		:: KEEPS_DIRTY -> counted = true
		:: else -> nr_dirty--
		fi
	:: else
	fi
}

inline unpin_writer()
{
	d_step {
		word = word - WRITER;
		if
		:: has_units -> units = false; has_units = false
		:: else
		fi
	}
}

/* cache_hold_bio() */
inline hold(v)
{
	d_step {
		if
#ifndef BUG_SUSPEND_NOT_SEEN
		:: suspending && health == HOLDING -> held[v] = FAILED
#endif
		:: else -> held[v] = HELD; degrade_queued = true
		fi
	}
	held[v] == GOES || held[v] == FAILED
}

proctype Writer(byte v)
{
	short w;
	mtype how;
	bool ok, error, counted, has_units;

	write_begins(v);
retry:
	w = word;
	if
	:: STATE(w) == FREE -> origin = v; goto ended_well
	:: STATE(w) == EVICTING -> word != w; goto retry
	:: else
	fi;
	how = mode;
	if
	:: how == PT && (health == BYPASS || !(w & DIRTY)) -> goto passthrough
	:: else
	fi;

	/* cache_claim_both(), take_units(); who waits is woken when the word changes */
	if
	:: how != WB ->
		if
		:: (WRITERS(w) && ((w & DIRTY) || how == PT)) ||
		   STATE(w) == WRITEBACK -> word != w; goto retry
		:: else
		fi;
		if
		:: atomic { !units -> units = true; has_units = true }
		:: atomic { units -> !units; goto retry }
		fi
	:: else
	fi;

	/* pin_for_write() */
	counted = false;
	if
	:: w & INTENT ->
		count_dirty(w);
		if
		:: !counted && !(w & DIRTY) && !has_units -> goto retry	/* lacks_units() */
		:: else
		fi
	:: else
	fi;
	try_change(w, (w + WRITER) | TOUCHED | (counted -> DIRTY : 0), ok);
	if
	:: !ok ->
		d_step {
			if :: counted -> nr_dirty-- :: else fi;
			if :: has_units -> units = false; has_units = false :: else fi
		}
		goto retry
	:: else
	fi;
	if
	:: w & INTENT -> goto issue
	:: else
	fi;

	/* wait_for_intent(), intent_done() */
#ifdef BUG_NO_INTENT_WHEN_READ_ONLY
	if
	:: health == READ_ONLY -> goto issue
	:: else
	fi;
#endif
	error = false;
	if
	:: !WRITABLE -> error = true
	:: else -> commit(SET_DIRTY, error)
	fi;
#ifdef BUG_INTENT_THOUGH_REFUSED
	error = false;
#endif
	if
	:: error || mode == PT ->	/* intent_refused() */
		error = false;
		unpin_writer();
		if
		:: health == READ_ONLY -> goto ended_badly
		:: else -> goto retry
		fi
	:: else
	fi;
	w = word;
	count_dirty(w);
	d_step {
		if
		:: counted && (word & DIRTY) -> nr_dirty--
		:: else
		fi;
		word = word | INTENT | (counted -> DIRTY : 0);
		w = word
	}
	if
	:: !has_units && !(w & DIRTY) -> unpin_writer(); goto retry
	:: else
	fi;

issue:
#ifdef BUG_HOME_WRITES_SLOT
	if
	:: !(w & DIRTY) && health == READ_ONLY -> fast = v; goto written
	:: else
	fi;
#endif
#ifdef BUG_HOME_WRITES_ORIGIN
	if
	:: !(w & DIRTY) && health == READ_ONLY -> origin = v; goto written
	:: else
	fi;
#endif
	if
	:: KEEPS_DIRTY -> fast = v
	:: !KEEPS_DIRTY -> fast = v; origin = v
	:: !KEEPS_DIRTY -> origin = v; fast = v
	fi;
#if defined(BUG_HOME_WRITES_SLOT) || defined(BUG_HOME_WRITES_ORIGIN)
written:
#endif
	unpin_writer();
	goto ended_well;

passthrough:
	/* map_write(), write_past_slot() */
	if
	:: health == BYPASS -> origin = v; goto ended_well
	:: health == GOOD ->
		unmap(w, ok, error);
		if
		:: !ok && PINS(w) -> word != w
		:: else
		fi;
		goto retry
	:: health == HOLDING ->
		hold(v);
		if
		:: held[v] == FAILED -> goto ended_badly
		:: else -> goto retry
		fi
	:: health == READ_ONLY ->
#ifdef BUG_READ_ONLY_WRITES_ORIGIN
		origin = v; goto ended_well
#else
		goto ended_badly
#endif
	fi;

ended_badly:
	write_fails(v);
	goto done;
ended_well:
	write_ends(v);
done:
	w = 0
}

proctype Reader()
{
	short w;
	bool ok;

	during = allowed;
retry:
	w = word;
	if
	:: (mode == PT && (health == BYPASS || !(w & DIRTY))) ||
	   STATE(w) == EVICTING || STATE(w) == FREE ->
		assert(during & (1 << origin))
	:: else ->
		try_change(w, w + READER, ok);
		if
		:: ok -> assert(during & (1 << fast)); word = word - READER
		:: else -> goto retry
		fi
	fi
}

/* A writer of another block. */
proctype Other()
{
	bool counted;

	count_dirty(0)
}

/* A commit that is for other blocks. */
proctype OtherCommit()
{
	bool error;

	commit(BARRIER, error)
}

/* ---- What happens to it ---- */

proctype Meta(bool returns)
{
	meta_works = false;
	if
	:: returns -> meta_works = true
	:: else
	fi
}

/* cache_set_fail_open(), by message while writes wait */
proctype SetFailOpen()
{
end:
	atomic { health == HOLDING -> fail_open = true; health = BYPASS };
	degrade_queued = true
}

/* Presuspend to postsuspend; from there on the metadata may be another's. */
proctype Suspend()
{
	quiescing = true;
	/* What is held is failed in the step in which holding ends. */
	d_step {
		suspending = true;
		if
		:: health == HOLDING ->
			if :: held[2] == HELD -> held[2] = FAILED :: else fi;
			if :: held[3] == HELD -> held[3] = FAILED :: else fi
		:: else
		fi
	}
	/* All bios have ended; drain_work() waits for the worker. */
	!in_flight;
#ifndef BUG_NO_DRAIN
	!degrade_queued && !degrading;
#endif
	gone = true
}

/* The cache device does not answer any more; commits have failed before. */
proctype FastDies()
{
	if
	:: health == READ_ONLY && !fast_dead -> atomic { fast_dead = true; set_failed_mode() }
	:: true
	fi
}

/* A flush of the cache device has failed. */
proctype FlushFails()
{
	flush_failed = true
}

/* What a slot says that nobody writes to. */
#define AT_REST		(STATE(word) == VALID && !WRITERS(word) && \
			 !(word & DIRTY) && (WRITABLE || health == READ_ONLY))

proctype Cut()
{
	bool believed;

	atomic {
		/*
		 * Without a fence: not the power goes, but the table, and another comes.
		 * If the disk calls dirty what went home, power may go as well.
		 */
		believed = mapped && !(unfenced && fail_open && distrusted && !unsaid);
		assert(!AT_REST || fast == origin);
		assert(!believed || MAY_BE_SEEN(fast));
		assert(!believed || dirty || fast == origin);
		assert(believed || MAY_BE_SEEN(origin))
	}
}

init
{
	atomic {
		mapped = (BEGIN != UNMAPPED);
		dirty = (BEGIN >= MAPPED_INTENT);
		word = (BEGIN >= MAPPED_INTENT -> INTENT : 0) |
		       (BEGIN == MAPPED_DIRTY -> DIRTY : 0);
		allowed = 1 << FIRST;
		if
		:: BEGIN == MAPPED_DIRTY ->
			fast = NEWER; allowed = 1 << NEWER; nr_dirty++
		:: else
		fi;
		PROCESSES;
		run Cut()
	}
}
