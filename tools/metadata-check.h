/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verification of whole metadata, and its dump as XML.  User space only.
 */

#ifndef HEARTH_METADATA_CHECK_H
#define HEARTH_METADATA_CHECK_H

#include "../dm-target/cache-metadata.h"

/**
 * metadata_check() - verify every block, every reference count, every value
 * @report: told about each fault, one line without a newline; may be NULL
 *
 * Looks at the last committed state; nothing uncommitted may be pending.
 *
 * Return: the number of faults found, or a negative error.
 */
int metadata_check(struct cmd *cmd, void (*report)(void *ctx, const char *msg),
		   void *ctx);

/**
 * metadata_dump() - write the XML that cache_restore reads
 *
 * Every block is dirty in the output if the metadata was left unclean.
 */
int metadata_dump(struct cmd *cmd, FILE *out);

#endif
