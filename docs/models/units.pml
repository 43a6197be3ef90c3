/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Overlapping writes to both devices: take_units(), wait_for_units() and
 * cache_return_units() of dm-target/cache-both.c with cache_wake_waiters(), for spin.
 *
 * The model has one bucket of waiters with its units.  A writer takes its units in
 * one step, unless another writer has them or waits for them.  Its write reaches the
 * two devices in any order.  Then it gives the units back, and wakes all waiters if
 * no other writer has the units that they want.  A slot of the same bucket wakes
 * them, too.
 *
 * No two writers of one unit are under way at a time, so both devices end with the
 * same contents.  Every writer ends.
 *
 * Memory is sequentially consistent here; gate.pml has the two barriers (case 3).
 *
 * CASE chooses the processes, BUG_... makes a variant that must fail.
 */

#if CASE == 1		/* all writers write one unit */
#define PROCESSES	run Writer(0, 1); run Writer(1, 1); run Writer(2, 1)
#elif CASE == 2		/* one overlaps two that do not overlap each other */
#define PROCESSES	run Writer(0, 1); run Writer(1, 2); run Writer(2, 3)
#elif CASE == 3		/* a slot of the same bucket wakes its waiters as well */
#define PROCESSES	run Writer(0, 1); run Writer(1, 1); run Writer(2, 2); \
			run Waker(); run Waker()
#elif CASE == 4		/* one writer wants all units */
#define PROCESSES	run Writer(0, 3); run Writer(1, 1); run Writer(2, 2); \
			run Waker()
#endif

#define WRITERS		3
#define UNITS		2

byte units;
byte wanted;		/* units that waiters want */
bool locked;
bool parked[WRITERS];
byte fast[UNITS], origin[UNITS];
byte writing[UNITS];
byte ended;

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

inline wake()
{
	lock();
	d_step {
		parked[0] = false; parked[1] = false; parked[2] = false;
		wanted = 0
	};
	unlock()
}

/* This writer's write to one of the devices. */
#define WRITE(device) \
	d_step { \
		if :: mine & 1 -> device[0] = id + 1 :: else fi; \
		if :: mine & 2 -> device[1] = id + 1 :: else fi \
	}

inline under_way(n)
{
	d_step {
		if :: mine & 1 -> writing[0] = writing[0] + n; assert(writing[0] <= 1) :: else fi;
		if :: mine & 2 -> writing[1] = writing[1] + n; assert(writing[1] <= 1) :: else fi
	}
}

proctype Writer(byte id; byte mine)
{
	byte old, before;

again:
	if
	:: wanted & mine -> goto wait
	:: else
	fi;
	old = units;
	if
	:: old & mine -> goto wait
	:: else
	fi;
#ifdef BUG_TAKEN_IN_TWO_STEPS
	units = units | mine;
#else
	/* compare and exchange */
	if
	:: atomic { units == old -> units = units | mine }
	:: atomic { units != old -> goto again }
	fi;
#endif

	under_way(1);
	if
	:: WRITE(fast); WRITE(origin)
	:: WRITE(origin); WRITE(fast)
	fi;
	under_way(-1);

	atomic { units = units & ~mine; old = units };
	if
	:: wanted && !(wanted & old) -> wake()
	:: else
	fi;
	ended++;
	goto end;

wait:
	lock();
	before = wanted;
#ifdef BUG_LOOK_THEN_SAY
	old = units;
	wanted = wanted | mine;
#else
	wanted = wanted | mine;
	old = units;
#endif
#ifdef BUG_NO_SECOND_LOOK
	old = mine;
#endif
	if
	:: (old | before) & mine -> parked[id] = true
#ifndef BUG_WANTED_BY_NOBODY
	:: else -> wanted = before
#else
	:: else
#endif
	fi;
	unlock();
	!parked[id];
	goto again;
end:
	skip
}

proctype Waker()
{
	wake()
}

init
{
	atomic { PROCESSES };
	_nr_pr == 1;
	assert(ended == WRITERS);
	assert(units == 0);
	assert(fast[0] == origin[0] && fast[1] == origin[1])
}
