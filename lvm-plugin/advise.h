/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The answer of hearth advise, for other subcommands.  It must not change a cache.
 */
#ifndef HEARTH_PLUGIN_ADVISE_H
#define HEARTH_PLUGIN_ADVISE_H

#include <stdint.h>

#include "trace.h"

/**
 * advised_bytes() - the bytes of SSD that hearth advises for a volume on a rotating disk
 * @t: the requests to the volume, one at least
 * @volume: bytes of the volume; 0: not known
 * @block: bytes of a block of the cache, a multiple of 512
 *
 * Simulates caches of several sizes with the policy heat, on a sample of the blocks. Prints
 * nothing. Aborts without memory.
 *
 * Return: bytes of SSD; 0 if they cannot be computed.
 */
double advised_bytes(const struct trace *t, double volume, uint32_t block);

#endif
