/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The answer of hearth advise, for other subcommands.
 */
#ifndef HEARTH_PLUGIN_ADVISE_H
#define HEARTH_PLUGIN_ADVISE_H

#include <stdint.h>

#include "trace.h"

/*
 * The size of an SSD, in bytes, that is advised to a volume of @volume bytes with these
 * requests on a disk; its blocks have @block bytes.  0: that cannot be computed.
 */
double advised_bytes(const struct trace *t, double volume, uint32_t block);

#endif
