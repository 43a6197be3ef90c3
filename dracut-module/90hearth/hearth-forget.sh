#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# dracut calls this when root is mounted. rd.hearth.origin is for the volumes that the
# boot itself needs, and not for those that are activated later.

/sbin/hearth-origin forget
