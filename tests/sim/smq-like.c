#include "model.h"
struct model *smq_like_create(const char *name, const struct model_params *params){(void)name;(void)params;return NULL;}
