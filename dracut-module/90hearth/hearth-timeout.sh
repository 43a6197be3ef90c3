#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# dracut calls this when the root device does not appear. With rd.hearth.degraded it
# takes the cache off the volumes that are complete without their missing cache
# device.

# shellcheck disable=SC1091
type getargbool > /dev/null 2>&1 || . /lib/dracut-lib.sh

if getargbool 0 rd.hearth.degraded && /sbin/hearth-degraded fix; then
    # Makes dracut look for the root device again.
    # shellcheck disable=SC2154
    : > "$hookdir/initqueue/work"
fi
