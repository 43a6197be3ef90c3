/* SPDX-License-Identifier: GPL-2.0-only */
/* Mutations that know what a block is. */

#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include "image.h"

void image_mutate(struct image *im, u64 *rng);
/* Copies some blocks of @from into @im. */
void image_cross(struct image *im, const struct image *from, u64 *rng);

#endif
