/* SPDX-License-Identifier: GPL-2.0-only */
/* In user space os/ has the contents of this header of the kernel. */
#include "os/sync.h"
