/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The answer of hearth advise, for other subcommands.
 */
#ifndef HEARTH_PLUGIN_ADVISE_H
#define HEARTH_PLUGIN_ADVISE_H

#include <stdint.h>

#include "trace.h"

/**
 * advised_bytes() - the size of an SSD that is advised to a volume on a rotating disk
 * @t: the requests to the volume, one at least
 * @volume: its size in bytes; 0: not known
 * @block: the size of the cache's blocks in bytes, a multiple of 512
 *
 * Simulates caches of several sizes with the policy heat, on a sample of the blocks. Prints
 * nothing. Aborts without memory.
 *
 * Return: bytes; 0 if that cannot be computed.
 */
double advised_bytes(const struct trace *t, double volume, uint32_t block);

#endif
