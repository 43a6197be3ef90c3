/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The dirty-bit protocol, and which state is durable at each instant:
 * dm-target/cache-commit.c with the parts of cache-io.c, cache-fill.c, cache-evict.c
 * and cache-writeback.c that queue commits, for spin.
 *
 * The model has one origin block and one slot.  The slot's neighbours have only one
 * effect: their intents may set this slot's ahead.  Each of the two devices has
 * current contents, and a set of contents that it might have if the power failed
 * now: those of the last flush, and all that were written since.  The metadata on
 * the disk is a mapping and a dirty bit, which one step of the commit worker
 * changes, because persistent-data promises that a commit is atomic.
 *
 * Power fails at any instant (the process Cut).  Then I1 and I2 of
 * docs/architecture.md have to hold, with "may be seen" as it is defined there,
 * whichever contents the devices kept.  I3 follows from them: a dirty block is read
 * from its slot and leaves it only by write-back, and a clean one is the same in
 * both places.
 *
 * Left out: devices that cannot flush; discards; the pins of readers (slots.pml).
 *
 * CASE chooses the processes, BUG_... makes a variant that must fail.
 */

#define WB		(CASE >= 10)	/* writeback; else writethrough */

#define UNMAPPED	0
#define MAPPED_CLEAN	1
#define MAPPED_DIRTY	2

#if CASE == 1		/* writethrough, a clean block */
#define BEGIN		MAPPED_CLEAN
#define PROCESSES	run Writer(2); run Writer(3); run Flusher(); run Evict()
#elif CASE == 2		/* a promotion */
#define BEGIN		UNMAPPED
#define PROCESSES	run Writer(2); run Writer(3); run Flusher(); run Fill()
#elif CASE == 3		/* a promotion, an eviction and the slot's next block */
#define BEGIN		UNMAPPED
#define PROCESSES	run Writer(2); run Flusher(); run Fill(); run Evict(); \
			run Alien()
#elif CASE == 4		/* write-back of a block that a writeback table left dirty */
#define BEGIN		MAPPED_DIRTY
#define PROCESSES	run Writer(2); run Flusher(); run Writeback(); run Evict(); \
			run Alien()
#elif CASE == 5		/* one copy of a write fails */
#define ERRORS
#define BEGIN		MAPPED_CLEAN
#define PROCESSES	run Writer(2); run Writer(3); run Flusher(); run Alien()
#elif CASE == 10	/* writeback, a clean block */
#define BEGIN		MAPPED_CLEAN
#define PROCESSES	run Writer(2); run Flusher(); run Writeback(); run Evict(); \
			run Alien()
#elif CASE == 11	/* two writers beside the write-back of a dirty block */
#define BEGIN		MAPPED_DIRTY
#define PROCESSES	run Writer(2); run Writer(3); run Flusher(); run Writeback()
#elif CASE == 12	/* promotions by writers */
#define BEGIN		UNMAPPED
#define PROCESSES	run Writer(2); run Writer(3); run Flusher(); run Fill()
#elif CASE == 13	/* a promotion, its write-back, its eviction, the next block */
#define BEGIN		UNMAPPED
#define PROCESSES	run Writer(2); run Flusher(); run Writeback(); run Evict(); \
			run Alien()
#endif

/* ---- The devices ---- */

#define ORIGIN		0
#define FAST		1

byte content[2];
byte kept[2];		/* a bit for each value it might hold after a cut */

#define FIRST		0	/* the block's first value, */
#define NEWER		1	/* or the slot's, if that was dirty */
#define ALIEN		4	/* a value of another block */

inline put(dev, v)
{
	d_step {
		content[dev] = v;
		kept[dev] = kept[dev] | (1 << (v));
	}
}

/* Values written before the flush began are safe; later ones may be, too. */
inline flush(dev)
{
	d_step { kept[dev] = 1 << content[dev] }
}

/* ---- The metadata on the disk ---- */

bool mapped, dirty;

/* ---- The values that may be seen ---- */

byte allowed;		/* values that a read may return now */
byte in_flight;
byte overlap[5];
byte after_cut;		/* values that a read may return after a cut */

inline write_begins(v)
{
	d_step {
		overlap[v] = in_flight | (1 << v);
		for (k : 2 .. 3) {
			if
			:: in_flight & (1 << k) -> overlap[k] = overlap[k] | (1 << v)
			:: else
			fi
		}
		k = 0;
		in_flight = in_flight | (1 << v);
		allowed = allowed | (1 << v);
		after_cut = after_cut | (1 << v);
		begun = begun | (1 << v);
	}
}

inline write_ends(v)
{
	d_step {
		in_flight = in_flight & ~(1 << v);
		allowed = (allowed & overlap[v]) | in_flight;
		overlap[v] = 0;
	}
}

byte begun;		/* writes since the flush began */

/* ---- The slot ---- */

mtype = { FREE, FILLING, VALID, WRITEBACK, EVICTING };
mtype state = FREE;
bool hashed;		/* a lookup finds the block */
bool slot_dirty, intent, touched;
byte writers;
byte gate;
byte nr_suspects;

/* ---- cache-commit.c ---- */

#define SET_DIRTY	1
#define CLEAR_DIRTY	2
#define MAP_CLEAN	3
#define MAP_DIRTY	4
#define UNMAP		5

chan queue = [4] of { byte, byte };	/* commit_ops */
chan group = [4] of { byte, byte };	/* the ops that one commit makes durable */
bool durable[10];	/* op->done(), for each process */

inline commit(kind)
{
	queue!kind, _pid;
	durable[_pid];
	durable[_pid] = false
}

inline apply(kind)
{
	if
	:: kind == SET_DIRTY -> assert(mapped || new_mapped); new_dirty = true
	:: kind == CLEAR_DIRTY -> new_dirty = false
	:: kind == MAP_CLEAN -> new_mapped = true; new_dirty = false
	:: kind == MAP_DIRTY -> new_mapped = true; new_dirty = true
	:: kind == UNMAP -> new_mapped = false; new_dirty = false
	fi
}

#ifdef BUG_SWEEP_IGNORES_WRITERS
#define MAY_SWEEP	true
#else
#define MAY_SWEEP	(writers == 0)
#endif

/* ahead_possible() */
#ifdef BUG_AHEAD_OF_ANY_STATE
#define AHEAD_POSSIBLE	(!intent && state != FREE)
#else
#define AHEAD_POSSIBLE	(!intent && state == VALID)
#endif

inline ahead_mark()
{
	d_step {
		if
		:: state == VALID || state == WRITEBACK -> intent = true
		:: else
		fi
	}
}

/* cache_commit_work(), for ever. */
active proctype Committer()
{
	byte kind, owner, i;
	bool relies, swept, ahead, new_mapped, new_dirty;

end:
	do
	:: atomic {
		/* gather_group() */
		len(queue) > 0 || (state == VALID && intent && !slot_dirty) ||
		AHEAD_POSSIBLE ->
		relies = false;
		do
		:: queue?kind, owner ->
			relies = relies || kind == CLEAR_DIRTY ||
				 kind == MAP_CLEAN || kind == MAP_DIRTY;
			group!kind, owner
		:: empty(queue) -> break
		od;
		kind = 0; owner = 0
	   }
		/* sweep_collect() */
		atomic {
			swept = false;
			if
			:: state == VALID && intent && !slot_dirty && MAY_SWEEP ->
			   intent = false; swept = true
			:: true		/* not due */
			fi
		}
#ifndef BUG_SWEEP_IGNORES_SUSPECTS
		if
		:: swept && nr_suspects -> d_step { intent = true; swept = false }
		:: else
		fi;
#endif
		if
		:: relies || swept ->
#ifndef BUG_NO_ORIGIN_FLUSH
			flush(ORIGIN);
#endif
#ifndef BUG_NO_FAST_FLUSH
			flush(FAST)
#else
			skip
#endif
		:: else
		fi;
		/* cache_intents_choose_ahead(): a neighbour is in the group, or not */
		if
		:: atomic { !swept && AHEAD_POSSIBLE -> ahead = true }
#ifdef BUG_AHEAD_MARKS_EARLY
			ahead_mark();
#endif
		:: true
		fi;
		/* commit_group(): the metadata's own order */
		d_step {
			new_mapped = mapped;
			new_dirty = dirty && !swept;
			for (i : 1 .. len(group)) {
				group?kind, owner;
				apply(kind);
				group!kind, owner
			}
			if
			:: ahead -> assert(new_mapped); new_dirty = true
			:: else
			fi;
			mapped = new_mapped;
			dirty = new_dirty;
			i = 0; kind = 0; owner = 0; new_mapped = false; new_dirty = false;
			swept = false; relies = false
		}
		/* cache_intents_ahead_durable() */
		if
		:: ahead -> ahead_mark(); ahead = false
		:: else
		fi;
		/* complete_ops() */
		atomic {
			do
			:: group?_, owner -> durable[owner] = true
			:: empty(group) -> break
			od;
			owner = 0
		}
	od
}

/* ---- cache-evict.c ---- */

inline unmap()
{
#ifdef BUG_FREE_BEFORE_COMMIT
	d_step { hashed = false; intent = false; slot_dirty = false; state = FREE };
	commit(UNMAP)
#else
	commit(UNMAP);
	d_step { hashed = false; intent = false; slot_dirty = false; state = FREE }
#endif
}

/* ---- cache-io.c ---- */

#define MARKS_DIRTY	WB

proctype Writer(byte v)
{
	byte k;

	write_begins(v);
retry:
	if
	:: atomic { !hashed ->
		if
		:: goto bypass
		:: WB && state == FREE -> goto overwrite
		fi
	   }
	/* pin_for_write(): one step, and the bio is parked until it succeeds */
	:: atomic { hashed && (state == VALID || state == WRITEBACK) &&
		    (WB || (writers == 0 && state != WRITEBACK)) ->
		writers++;
		touched = true;
		if
		:: intent -> slot_dirty = slot_dirty || MARKS_DIRTY; goto issue
		:: else
		fi
	   }
	fi;
#ifndef BUG_NO_INTENT
	commit(SET_DIRTY);
#endif
	d_step { intent = true; slot_dirty = slot_dirty || MARKS_DIRTY };

issue:
	if
	:: WB -> put(FAST, v)
	:: !WB -> put(FAST, v); put(ORIGIN, v)
	:: !WB -> put(ORIGIN, v); put(FAST, v)
#ifdef ERRORS
	:: !WB -> put(ORIGIN, v); goto suspect
#endif
	fi;
	writers--;
	goto done;

bypass:
	gate++;
	if
	:: hashed -> gate--; goto retry
	:: else
	fi;
	put(ORIGIN, v);
	gate--;
	goto done;

overwrite:
	/* promote_overwrite(); another block may have had the slot before */
	if
	:: atomic { state == FREE -> state = FILLING; hashed = true }
	:: state != FREE -> goto retry
	fi;
	if
	:: gate -> d_step { hashed = false; state = FREE }; goto retry
	:: else
	fi;
	put(FAST, v);
#ifdef BUG_OVERWRITE_MAPS_CLEAN
	commit(MAP_CLEAN);
#else
	commit(MAP_DIRTY);
#endif
	d_step { state = VALID; intent = true; slot_dirty = true };
	goto done;

#ifdef ERRORS
suspect:
	/* end_both(), cache_drop_then_end() */
	nr_suspects++;
	writers--;
	if
	:: atomic { state == VALID && writers == 0 -> state = EVICTING }
	/* another process dropped it, or the other writer's drop came first */
	:: atomic { !hashed -> goto dropped }
	fi;
	unmap();
dropped:
	nr_suspects--;
#endif
done:
	write_ends(v)
}

/* ---- cache-fill.c ---- */

proctype Fill()
{
	byte data;

	if
	:: atomic { !hashed && state == FREE -> state = FILLING; hashed = true }
	:: true -> goto done
	fi;
	if
	:: gate -> d_step { hashed = false; state = FREE }; goto done
	:: else
	fi;
	data = content[ORIGIN];
	put(FAST, data);
	if
	:: commit(MAP_CLEAN); state = VALID
	:: WB -> commit(MAP_DIRTY); d_step { state = VALID; intent = true }
	fi;
done:
	skip
}

proctype Evict()
{
	if
	:: atomic { state == VALID && writers == 0 && !slot_dirty ->
		    state = EVICTING }
	:: true -> goto done
	fi;
	unmap();
done:
	skip
}

/* Another block takes the free slot, and leaves it again. */
proctype Alien()
{
	if
	:: atomic { state == FREE -> state = FILLING }
	:: true -> goto done
	fi;
	put(FAST, ALIEN);
	state = FREE;
done:
	skip
}

/* ---- cache-writeback.c ---- */

proctype Writeback()
{
	byte data;
	bool cleared;

	if
	:: atomic { state == VALID && slot_dirty && writers == 0 ->
		    state = WRITEBACK; touched = false }
	:: true -> goto done
	fi;
	data = content[FAST];
	put(ORIGIN, data);
	/* cache_commit_queue_if(clear_marks) */
	atomic {
		if
#ifdef BUG_CLEAR_THOUGH_TOUCHED
		:: true ->
#else
		:: !touched && writers == 0 ->
#endif
			slot_dirty = false; intent = false; cleared = true;
			queue!CLEAR_DIRTY, _pid
		:: else
		fi
	}
	if
	:: cleared -> atomic { durable[_pid] -> durable[_pid] = false }
	:: else
	fi;
	state = VALID;	/* leave_writeback() */
done:
	skip
}

/* ---- Requests from above ---- */

proctype Flusher()
{
	byte before;

	d_step { before = allowed; begun = 0 };
	if
	:: flush(ORIGIN); flush(FAST)
	:: flush(FAST); flush(ORIGIN)
	fi;
	d_step { after_cut = before | begun; before = 0 }
}

#define one_bit(m)	((m) == 1 || (m) == 2 || (m) == 4 || (m) == 8 || (m) == 16)

/* Power fails. */
active proctype Cut()
{
	atomic {
		assert(mapped || !(kept[ORIGIN] & ~after_cut));
		assert(!mapped || !(kept[FAST] & ~after_cut));		/* I1 */
		assert(!mapped || dirty ||
		       (kept[FAST] == kept[ORIGIN] && one_bit(kept[FAST])));	/* I2 */
	}
}

init
{
	atomic {
		content[ORIGIN] = FIRST;
		kept[ORIGIN] = 1 << FIRST;
		content[FAST] = ALIEN;
		if
		:: BEGIN == MAPPED_CLEAN -> content[FAST] = FIRST
		:: BEGIN == MAPPED_DIRTY ->
			content[FAST] = NEWER; dirty = true; intent = true;
			slot_dirty = true
		:: else
		fi;
		kept[FAST] = 1 << content[FAST];
		if
		:: BEGIN != UNMAPPED ->
			state = VALID; hashed = true; mapped = true
		:: else
		fi;
		allowed = 1 << (BEGIN == MAPPED_DIRTY -> NEWER : FIRST);
		after_cut = allowed;
		PROCESSES
	}
}
