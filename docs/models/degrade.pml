/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How the engine degrades when the metadata fails: dm-target/cache-degrade.c with
 * the parts of cache-commit.c, cache-io.c, cache-evict.c and cache-writeback.c that
 * a failing commit reaches, for spin.
 *
 * The model has one origin block and one slot.  The other blocks are only a count of
 * dirty ones.  The metadata on the disk is a mapping and a dirty bit.
 * From some instant on the device refuses writes (the process Meta), and may answer
 * again later.  A commit that returns an error may have reached the disk.
 *
 * Power fails at any instant (the process Cut), and the next engine reads the disk.
 * Then I1 and I2 of docs/architecture.md have to hold.  They are not promised once
 * fail_open lets writes continue without a fence; then an engine of the same module
 * starts with an empty cache, so that the origin must hold a value that may be
 * seen.  A read returns a value that may be seen at some moment between its
 * beginning and its end.  No bio waits for ever.
 *
 * The value of a refused write may be seen or not, until another write is
 * acknowledged.
 *
 * When no commit can mark a block clean, because the metadata cannot be written or
 * the cache device cannot flush, write-back writes it to the origin without one:
 * COMMIT_HOME.  The block stays dirty on the disk, so the next engine takes the
 * slot's contents, fence or not: a write to it reaches both devices or none.
 *
 * In case 12 the origin has a volatile cache, and a power cut loses what was not
 * flushed.  There write-back is the only one that writes, so that the lost values
 * are the engine's alone.
 *
 * Left out: the loss of other volatile caches (dirty.pml), so that of a cache device
 * that cannot flush the model has only the engine's response; a cache device that
 * fails writes (slots.pml); promotions; two tables on one engine.
 *
 * CASE chooses the processes, BUG_... makes a variant that must fail.
 */

#define UNMAPPED	0
#define MAPPED_CLEAN	1
#define MAPPED_INTENT	2	/* dirty on the disk, but not in memory */
#define MAPPED_DIRTY	3

#define FAIL_OPEN	true

#if CASE == 1		/* no dirty block: the fence, or writes without one */
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
#elif CASE == 7		/* READ_ONLY: this one is dirty, and write-back has begun */
#define MODE		WB
#define BEGIN		MAPPED_DIRTY
#define PROCESSES	run Writer(2); run Reader(); run Writeback(); run Meta(true)
#elif CASE == 8		/* the same in writethrough: left dirty by a writeback table */
#define MODE		WT
#define BEGIN		MAPPED_DIRTY
#define PROCESSES	run Writer(2); run Writer(3); run Writeback(); run Meta(true)
#elif CASE == 9		/* write-back without a commit, then the cache device dies */
#define MODE		WB
#define BEGIN		MAPPED_DIRTY
#define META_WORKS	false
#define PROCESSES	run Writer(2); run Writeback(); run OtherCommit(); run FastDies()
#elif CASE == 10	/* the same, seen by an eviction */
#define MODE		WT
#define BEGIN		MAPPED_DIRTY
#define PROCESSES	run Writer(2); run Writeback(); run Meta(true); run Evict()
#elif CASE == 11	/* the cache device cannot flush, then the metadata fails */
#define MODE		WB
#define BEGIN		MAPPED_DIRTY
#define PROCESSES	run Writer(2); run Writeback(); run FlushFails(); run Meta(false)
#elif CASE == 12	/* the same, and the origin forgets what was not flushed */
#define MODE		WB
#define BEGIN		MAPPED_DIRTY
#define VOLATILE	true
#define PROCESSES	run Writeback(); run Evict(); run FlushFails(); run Meta(false)
#endif
#ifndef VOLATILE
#define VOLATILE	false
#endif
#ifndef META_WORKS
#define META_WORKS	true
#endif

/* ---- The devices, and the metadata on the disk ---- */

#define FIRST		0	/* the block's first value, */
#define NEWER		1	/* or the slot's, if that was dirty */

byte fast, origin;
byte flushed;		/* what the origin had at its last flush, if it is VOLATILE */
bool mapped, dirty;
bool meta_works = META_WORKS;

/* ---- The values that a read may return ---- */

byte allowed, in_flight;
byte during;		/* values that the read under way may return in addition */
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

/* The write is acknowledged, so older values may not be seen any more. */
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
bool unfenced;			/* the metadata could not be voided ... */
bool distrusted;		/* ... and the module remembers its session */
bool quiescing, suspending;	/* a suspend has begun */
bool gone;			/* the suspend ended: another engine may have the metadata */
byte nr_dirty;
bool flush_failed;		/* the cache device cannot flush */
bool fast_dead;			/* only dirty blocks are still read from it */
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
bool units;		/* taken by a writer to both devices; all writers overlap here */

inline try_change(old, new, ok)
{
	d_step {
		if
		:: word == (old) -> word = (new); ok = true
		:: else -> ok = false
		fi
	}
}

/* ---- Bios that wait for the result of a commit ---- */

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

/* release_held() looks under held_lock for a suspend that has begun. */
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

/* The fence is the empty mapping or the wiped superblock; both may fail. */
inline make_fence()
{
	if
	:: meta_works -> mapped = false; fenced = true
	:: mapped = false; fenced = false	/* an error, but it reached the disk */
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

/* fast_failed() for a cache device that cannot flush, or is dead */
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
#define BARRIER		5

mtype = { WAITS, DONE, REFUSED };

chan queue = [4] of { byte, byte };
chan group = [4] of { byte, byte };
mtype ended[10] = WAITS;	/* op->done(), for each process */

/* The outcome of the commit, 0 or an error, is in @error. */
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

/* flush_devices(): the origin can flush, the cache device perhaps not. */
inline flush_for(kind)
{
	if
#ifdef BUG_HOME_UNFLUSHED
	:: VOLATILE && kind == CLEAR_DIRTY -> flushed = origin
#else
	:: VOLATILE && (kind == CLEAR_DIRTY || kind == HOME) -> flushed = origin
#endif
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
	byte kind, owner, i, nr;
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
		nr = len(group);
		for (i : 1 .. nr) {
			group?kind, owner;
			flush_for(kind);
			if
			:: kind == CLEAR_DIRTY && flush_failed ->
				ended[owner] = REFUSED	/* fail_unflushed() */
#ifndef BUG_HOME_REFUSED
			:: kind == HOME -> ended[owner] = DONE	/* end_home() */
#endif
			:: else ->
				if
				:: !refused -> apply(kind)
				:: else
				fi;
				group!kind, owner
			fi
		}
		i = 0; kind = 0; owner = 0; nr = 0
	   }
		if
		:: refused || len(group) == 0
		:: !refused && len(group) > 0 && meta_works -> reaches_disk()
		:: !refused && len(group) > 0 && !meta_works ->
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
				ended[owner] = (refused -> REFUSED : DONE)
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

/* cache_begin_unmap() to unmap_committed().  @ok: the unmap was begun and has ended. */
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
				/* The disk may still have the bit. */
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

/* Tries again after a failure, because the block has to reach the origin. */
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

/* Does a write make a slot with this word dirty? */
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

	/* cache_claim_both(), take_units(); a change of the word wakes the waiters */
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

/* A commit for other blocks. */
proctype OtherCommit()
{
	bool error;

	commit(BARRIER, error)
}

/* ---- Events from outside ---- */

proctype Meta(bool returns)
{
	meta_works = false;
	if
	:: returns -> meta_works = true
	:: else
	fi
}

/* cache_set_fail_open(), called by a message while writes wait */
proctype SetFailOpen()
{
end:
	atomic { health == HOLDING -> fail_open = true; health = BYPASS };
	degrade_queued = true
}

/* Presuspend to postsuspend.  Afterwards another engine may have the metadata. */
proctype Suspend()
{
	quiescing = true;
	/* In the step in which holding ends, the held bios fail. */
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

/* The cache device stops answering, after commits have failed. */
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

/* The slot has no writer and is clean, so both copies must be equal. */
#define AT_REST		(STATE(word) == VALID && !WRITERS(word) && \
			 !(word & DIRTY) && (WRITABLE || health == READ_ONLY))

proctype Cut()
{
	bool believed;

	atomic {
		/*
		 * Without a fence the table goes, not the power, and another table
		 * comes.  If a block that was written back is still dirty on the disk,
		 * the power may go as well.
		 */
		believed = mapped && !(unfenced && fail_open && distrusted && !unsaid);
		assert(!AT_REST || fast == origin);
		assert(!believed || MAY_BE_SEEN(fast));
		assert(!believed || dirty || fast == origin);
		assert(believed || MAY_BE_SEEN(origin));
		/* ... and what the origin did not flush is lost. */
		assert(!VOLATILE || !believed || dirty || fast == flushed);
		assert(!VOLATILE || believed || MAY_BE_SEEN(flushed))
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
