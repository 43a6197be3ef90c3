/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes that the log absorbs, and the worker that turns the log off and on again:
 * look_again() and cache_log_take_room() of dm-target/cache-log-io.c and cache-log.c with
 * steer(), cache_log_clear_flag(), start() and rest() of cache-log-state.c, for spin.
 *
 * The cache has two slots.  PLACE is the ring's while the log is on, and free while it is
 * off.  A write is counted in, takes room in a segment, and looks at the log's state between
 * these steps.  The worker may ask the log to drain, or change its mind, at any round.  All
 * that was absorbed goes home at some time.
 *
 * A write is absorbed only while the flag is durable (W1), never into the slot of the ring, and
 * never when the cache was given up.  When the ring is made, the log has no segment in its
 * place.  When the log is off, it has no extent.
 *
 * Memory is sequentially consistent here.  Under the names of locks in the code, several
 * accesses are one step.
 *
 * CASE chooses the processes, BUG_... makes a variant that must fail.
 */

#if CASE == 1		/* the log is turned off, and on again, beside one write */
#define WRITERS		1
#define ROUNDS		5
#elif CASE == 2		/* beside two */
#define WRITERS		2
#define ROUNDS		4
#elif CASE == 3		/* beside three, and it stays off */
#define WRITERS		3
#define ROUNDS		2
#elif CASE == 4		/* beside two, while the cache may be given up */
#define WRITERS		2
#define ROUNDS		2
#define GIVER
#endif

#define PLACE	0
#define OTHER	1
#define SLOTS	2
#define NONE	255

mtype = { ON, DRAINS, OFF, FREE, LENT, KEPT };

mtype state = ON;
bool keeps_dirty = true;	/* the mode */
bool given_up;
mtype slot[SLOTS];
bool flag = true;		/* the superblock's */
byte counted;			/* in the index: writes in flight, and blocks with extents */
byte segments;			/* log.room.nr_segments */
byte open = NONE;		/* the open segment */
bool closed[SLOTS];		/* the segment is in log.room.full */
byte flying[SLOTS];		/* placed in the segment, not seen yet */
byte extents[SLOTS];		/* seen */

/* may_absorb() */
#define MAY_ABSORB	(state == ON && keeps_dirty)

/* The steps under log.room.lock are atomic; at becomes NONE if there is no room. */
inline take_room()
{
	if
	:: atomic { open != NONE -> at = open; flying[at]++ }
	:: atomic { open == NONE -> at = NONE;
		if
		:: slot[PLACE] == FREE -> at = PLACE
		:: slot[PLACE] != FREE && slot[OTHER] == FREE -> at = OTHER
		:: else
		fi;
		if :: at != NONE -> slot[at] = LENT :: else fi };
		if
		:: at != NONE ->
			segments++;
			if
			:: atomic { open == NONE -> open = at; flying[at]++ }
			:: atomic { open != NONE -> mine = at; at = open; flying[at]++ }
				/* Another write has opened one meanwhile. */
				slot[mine] = FREE;
				segments--
			fi
		:: else
		fi
	fi
}

inline cancel()
{
	atomic {
		if :: at != NONE -> flying[at]-- :: else fi;
		counted--
	}
}

proctype Writer()
{
	byte at = NONE, mine;

#ifdef BUG_COUNTED_TOO_LATE
	if :: state != ON -> goto end :: else fi;
	take_room();
	if :: at == NONE || state != ON -> goto end :: else fi;
	counted++;
#else
	if :: !MAY_ABSORB -> goto end :: else fi;
	counted++;
#ifndef BUG_NO_MIDDLE_LOOK
	if :: !MAY_ABSORB -> cancel(); goto end :: else fi;
#endif
	take_room();
	if :: at == NONE -> cancel(); goto end :: else fi;
#ifndef BUG_NO_LAST_LOOK
	if :: !MAY_ABSORB -> cancel(); goto end :: else fi;
#endif
#endif
	assert(flag && !given_up);
	assert(slot[at] == LENT);
	atomic { flying[at]--; extents[at]++ };
end:
	skip
}

/* cache_log_close_open() and cache_log_reap() */
inline reap()
{
	atomic {
		if :: open != NONE -> closed[open] = true; open = NONE :: else fi
	};
	atomic {
		i = 0;
		do
		:: i < SLOTS ->
			if
			:: closed[i] && !flying[i] && !extents[i] ->
				closed[i] = false; slot[i] = FREE; segments--
			:: else
			fi;
			i++
		:: else -> break
		od
	}
}

inline go_home()
{
	atomic {
		counted = counted - extents[PLACE] - extents[OTHER];
		extents[PLACE] = 0; extents[OTHER] = 0
	}
}

inline try_clear()
{
#ifdef BUG_NO_COUNT
	reap();
#else
	if :: counted -> goto kept :: else fi;
	reap();
	if :: counted || segments -> goto kept :: else fi;
#endif
	flag = false;
	state = OFF;
	assert(!extents[PLACE] && !extents[OTHER]);
	atomic { if :: slot[PLACE] == KEPT -> slot[PLACE] = FREE :: else fi };
kept:
	skip
}

/* The place is taken, and all that lies there is the log's, so it counts as empty. */
inline try_start()
{
	atomic { if :: slot[PLACE] == FREE -> slot[PLACE] = KEPT :: else fi };
	assert(slot[PLACE] == KEPT);
	flag = true;
	state = ON
}

proctype Worker()
{
	byte round = 0, i;

	do
	:: round < ROUNDS ->
		/* steer() */
		if
		:: state == OFF -> try_start()
		:: state == ON -> state = DRAINS
		:: state == DRAINS -> state = ON
		:: skip
		fi;
		if :: go_home() :: skip fi;
		if :: state == DRAINS -> try_clear() :: else fi;
		/* rest() */
		if :: !counted && segments -> reap() :: else fi;
		round++
	:: else -> break
	od
}

/* stop_dirtying() of cache-degrade.c: the cache is given up if nothing is in it. */
proctype Giver()
{
	if :: segments -> goto end :: else fi;
	keeps_dirty = false;
	if :: segments -> goto end :: else fi;
	given_up = true;
end:
	skip
}

init
{
	byte i;

	atomic {
		slot[PLACE] = KEPT; slot[OTHER] = FREE;
		run Worker();
		i = 0;
		do
		:: i < WRITERS -> run Writer(); i++
		:: else -> break
		od;
#ifdef GIVER
		run Giver();
#endif
	};
	_nr_pr == 1;
	/* All that was absorbed is still known, and is counted. */
	assert(counted == extents[PLACE] + extents[OTHER]);
	assert(!counted || flag)
}
