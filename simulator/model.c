// SPDX-License-Identifier: GPL-2.0-only
/*
 * Models by name. This file must not know what a model does.
 */
#include <stdio.h>

#include "model.h"

struct model *model_create(const char *name, const struct model_params *params)
{
	struct model *(*const kinds[])(const char *name,
				       const struct model_params *params) = {
		classic_create, optimum_create, smq_like_create, hosted_create,
	};
	struct model *m;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (params->absorb && kinds[i] != hosted_create)
			continue;
		m = kinds[i](name, params);
		if (m)
			return m;
	}
	fprintf(stderr, "%s: no such policy%s, or its settings are wrong\n", name,
		params->absorb ? " with a write log" : "");
	return NULL;
}
