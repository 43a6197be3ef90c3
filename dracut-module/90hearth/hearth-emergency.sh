#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Before the emergency shell: prints the cached volumes that miss a device, and those
# whose origin was written without the cache, with the commands that help.

/sbin/hearth-degraded report
/sbin/hearth-origin remove
/sbin/hearth-origin report
