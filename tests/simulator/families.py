# SPDX-License-Identifier: GPL-2.0-only
#
# Families of made-up traces: the requests that a database, a mail server, loops,
# scans or moving working sets send to a block device.  They test generality, so
# no constant of a policy may be fitted to them.
#
# families.py DIRECTORY [REQUESTS] writes a file for each family, in the binary format.

import os
import random
import struct
import sys
from itertools import islice

KIB = 1024
BLOCK = 64 * KIB


def zipf(rng, nr, skew):
    """Draws shuffled ranks below nr with weights 1 / (rank + 1) ** skew."""
    weights, total = [], 0
    for i in range(nr):
        total += 1 / (i + 1) ** skew
        weights.append(total)
    names = list(range(nr))
    rng.shuffle(names)
    while True:
        for i in rng.choices(range(nr), cum_weights=weights, k=1000):
            yield names[i]


def small(rng, block, write=0):
    """A request of 4 to 16 KiB somewhere in a block."""
    return (block * BLOCK + 4 * KIB * rng.randrange(13),
            4 * KIB * rng.randint(1, 4), write)


def run(begin, length, piece, write=0):
    """A run of sequential requests."""
    for at in range(0, length, piece):
        yield begin + at, min(piece, length - at), write


def zipf_reads(rng):
    for block in zipf(rng, 8000, 1):
        yield small(rng, block)


def zipf_flat_mixed(rng):
    for block in zipf(rng, 8000, .7):
        yield small(rng, block, int(rng.random() < .3))


def zipf_writes(rng):
    for block in zipf(rng, 6000, .9):
        yield small(rng, block, 1)


def uniform(rng):
    while True:
        yield small(rng, rng.randrange(6000))


def recency(rng):
    """Reuses whose stack distances have evenly spread logarithms."""
    stack, fresh = [], 0
    while True:
        depth = int(2 ** (rng.random() * 12.5))
        if depth < len(stack):
            block = stack.pop(-1 - depth)
        else:
            block = fresh
            fresh += 1
        stack.append(block)
        yield small(rng, block * 7919 % 65521)


def moving_set(rng):
    """A small working set for a while, then another one."""
    while True:
        base = rng.randrange(40) * 500
        for _ in range(4000):
            yield small(rng, base + rng.randrange(500), int(rng.random() < .2))


def drifting_set(rng):
    at = 0
    while True:
        at += .05
        yield small(rng, int(at) + int(rng.expovariate(1 / 400)))


def loops(rng):
    """Permutations of sets of several sizes, over and over."""
    sets = [[base + i * 17 % size for i in range(size)]
            for base, size in ((0, 331), (1000, 773), (3000, 1543))]
    at = [0] * len(sets)
    while True:
        i = rng.randrange(len(sets))
        yield small(rng, sets[i][at[i]])
        at[i] = (at[i] + 1) % len(sets[i])


def zipf_and_scans(rng):
    hot = zipf(rng, 3000, .9)
    while True:
        for block in islice(hot, 5000):
            yield small(rng, block, int(rng.random() < .2))
        begin = (4000 + rng.randrange(4) * 3000) * BLOCK
        scan = run(begin, 2000 * BLOCK, 128 * KIB)
        for part in scan:
            yield part
            yield small(rng, next(hot))


def zipf_and_cold(rng):
    """Half the reads go to blocks that are read again, half to blocks that are not."""
    hot, cold = zipf(rng, 1500, .8), 10000
    while True:
        yield small(rng, next(hot))
        cold += 1
        yield small(rng, cold)


def database(rng):
    """8 KiB pages: a skewed table, an index, a log, a table scan at times."""
    table, index, log = zipf(rng, 6000, .8), zipf(rng, 300, .5), 0
    while True:
        for _ in range(2000):
            for source, base in ((index, 0), (table, 1000)):
                page = (base + next(source)) * 8 + rng.randrange(8)
                yield page * 8 * KIB, 8 * KIB, 0
            if rng.random() < .4:
                yield page * 8 * KIB, 8 * KIB, 1
                yield (9000 + log // 16 % 400) * BLOCK + log % 16 * 4 * KIB, \
                    4 * KIB, 1
                log += 1
        yield from run(1000 * BLOCK, 2000 * BLOCK, 256 * KIB)


def file_server(rng):
    """Whole files of 4 KiB to 4 MiB, some far more popular than others."""
    sizes = [4 * KIB * int(2 ** (rng.random() * 10)) for _ in range(1500)]
    begins, at = [], 0
    for size in sizes:
        begins.append(at)
        at += size + rng.randrange(4) * 4 * KIB
    for i in zipf(rng, len(sizes), .9):
        yield from run(begins[i], sizes[i], 64 * KIB, int(rng.random() < .15))


def mail_server(rng):
    """Small files are made, soon read a few times, and deleted."""
    live, free, fresh = [], [], 0
    while True:
        what = rng.random()
        if what < .3 or not live:
            if free:
                begin = free.pop(rng.randrange(len(free)))
            else:
                begin, fresh = fresh, fresh + 16 * KIB
            live.append(begin)
            yield begin, 4 * KIB * rng.randint(1, 4), 1
        elif what < .55 and len(live) > 8000:
            free.append(live.pop(rng.randrange(len(live))))
        else:
            begin = live[-1 - int(rng.expovariate(1 / 1500)) % len(live)]
            yield begin, 16 * KIB, int(what > .9)
        if rng.random() < .3:
            inode = (1 << 20) + begin // (256 * KIB)
            yield inode * 4 * KIB, 4 * KIB, 1


def virtual_machines(rng):
    """Boots: each reads the same scattered short streams in the same order."""
    images = []
    for i in range(8):
        images.append([((i * 4000 + rng.randrange(4000)) * BLOCK,
                        4 * KIB * rng.randint(1, 48)) for _ in range(700)])
    hot = zipf(rng, 3000, .8)
    while True:
        for begin, length in rng.choice(images):
            yield from run(begin, length, 32 * KIB)
            yield small(rng, 40000 + next(hot), int(rng.random() < .5))


def seldom_twice(rng):
    """A search engine's reads: a large space, 16 KiB and more, few reuses."""
    hot = zipf(rng, 20000, .75)
    for block in hot:
        begin = block * BLOCK + 8 * KIB * rng.randrange(8)
        yield from run(begin, 8 * KIB * rng.randint(1, 6), 16 * KIB)


def repeated_streams(rng):
    """Streams of 8 MiB at random places."""
    for i in zipf(rng, 100, .8):
        yield from run(i * 256 * BLOCK, 128 * BLOCK, 128 * KIB)


def all_sequential(_):
    yield from run(0, 1 << 50, 128 * KIB)


def streamed_writes(rng):
    """Backups that write to the same place, beside a few reads."""
    hot = zipf(rng, 2000, .9)
    while True:
        for part in run(4000 * BLOCK, 3000 * BLOCK, 512 * KIB, 1):
            yield part
            yield small(rng, next(hot))


def unaligned(rng):
    """Requests larger than a block that begin anywhere."""
    for block in zipf(rng, 3000, .8):
        yield block * 3 * BLOCK + 512 * rng.randrange(100), \
            512 * rng.randint(100, 400), int(rng.random() < .3)


def phases(rng):
    """Loops, then skew, then streams, then nothing but new blocks."""
    parts = [loops(rng), zipf_reads(rng), repeated_streams(rng),
             ((b * BLOCK, 4 * KIB, 0) for b in iter(lambda: rng.randrange(
                 100000, 160000), None)), recency(rng)]
    while True:
        yield from islice(rng.choice(parts), 5000)


# Reads of single pages, each family hard for some kind of policy.  They are made for
# a cache of CACHE blocks.

CACHE = 1024


def page(block):
    return block * 2 * BLOCK, 4 * KIB, 0


def bursts(rng):
    """New blocks are read 8 times in a short while and never again, beside a hot set."""
    hot, live, fresh = CACHE * 73 // 100, [], CACHE
    while True:
        if rng.random() < .5:
            yield page(rng.randrange(hot))
            continue
        if len(live) < 12:
            live.append([fresh, 8])
            fresh += 1
        i = rng.randrange(len(live))
        yield page(live[i][0])
        live[i][1] -= 1
        if not live[i][1]:
            live.pop(i)


def loop(times):
    """One set of @times the cache, in the same order over and over."""
    def one_loop(rng):
        blocks = list(range(int(times * CACHE)))
        rng.shuffle(blocks)
        while True:
            for block in blocks:
                yield page(block)
    one_loop.__name__ = f'loop_of_{times}'.replace('.', '_')
    return one_loop


def at_random(times):
    """Blocks of a set of @times the cache, all equally often."""
    def one_set(rng):
        while True:
            yield page(rng.randrange(int(times * CACHE)))
    one_set.__name__ = f'at_random_of_{times}'.replace('.', '_')
    return one_set


def scan_beside(rng):
    """A stream of new blocks beside a skewed set of four caches."""
    hot, at = zipf(rng, 4 * CACHE, .9), 1 << 20
    while True:
        yield page(next(hot))
        yield at * BLOCK, BLOCK, 0
        at += 1


def random_scan_beside(rng):
    """New blocks in no order, beside a skewed set of two caches."""
    hot, fresh = zipf(rng, 2 * CACHE, .9), 0
    while True:
        yield page(next(hot))
        yield page(4 * CACHE + fresh * 7919 % (1 << 20))
        fresh += 1


def read_twice(rng):
    """Each block is read again when half a cache of others has been, and never after that."""
    fresh = 0
    while True:
        yield page(fresh)
        if fresh >= CACHE // 2:
            yield page(fresh - CACHE // 2 + rng.randrange(2))
        fresh += 1


def skewed(rng):
    for block in zipf(rng, 8 * CACHE, .9):
        yield page(block)


def shifts(rng):
    """A skewed set that is another one at a stroke, again and again."""
    while True:
        base = rng.randrange(1000) * 4 * CACHE
        for block in islice(zipf(rng, 2 * CACHE, .9), 30 * CACHE):
            yield page(base + block)


def drift(rng):
    """A skewed set that moves by a block in ten reads."""
    at = 0
    while True:
        at += .1
        yield page(int(at) + int(rng.expovariate(1 / (CACHE * .7))))


def frequency_then_recency(rng):
    while True:
        for block in islice(zipf(rng, 4 * CACHE, 1), 30 * CACHE):
            yield page(block)
        yield from islice(recency(rng), 30 * CACHE)


HARD = [bursts, loop(1.05), loop(1.5), loop(3), at_random(1), at_random(2),
        scan_beside, random_scan_beside, read_twice, skewed, shifts, drift,
        frequency_then_recency]

FAMILIES = [zipf_reads, zipf_flat_mixed, zipf_writes, uniform, recency,
            moving_set, drifting_set, loops, zipf_and_scans, zipf_and_cold,
            database, file_server, mail_server, virtual_machines,
            seldom_twice, repeated_streams, all_sequential, streamed_writes,
            unaligned, phases]


def write_family(where, family, nr, seed=1):
    path = os.path.join(where, family.__name__ + '.bin')
    with open(path, 'wb') as f:
        for i, r in enumerate(islice(family(random.Random(seed)), nr)):
            f.write(struct.pack('<QQII', i, *r))
    return path


if __name__ == '__main__':
    for each in FAMILIES:
        write_family(sys.argv[1], each, int((sys.argv[2:] or [60000])[0]))
