#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Before the emergency shell: which cached volumes miss a device, and the
# command that helps.

/sbin/hearth-degraded report
