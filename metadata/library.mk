# SPDX-License-Identifier: GPL-2.0-only
#
# The metadata library: the store of persistent-data/, the cache's schema, the
# write log's library and what tools/ does with both, as user space builds them. A
# Makefile sets TOP, includes this list and links METADATA_SOURCES. No Makefile
# names these sources itself.

# The modules have these as well.
METADATA_PORTABLE := \
	$(filter-out %/pd-device-user.c %/pd-device-kernel.c, \
		$(wildcard $(TOP)/persistent-data/*.c)) \
	$(wildcard $(TOP)/metadata/*.c)
METADATA_SOURCES := $(METADATA_PORTABLE) $(TOP)/persistent-data/pd-device-user.c \
	$(TOP)/os/user.c $(wildcard $(TOP)/write-log/*.c) \
	$(filter-out %/hearth-metadata.c,$(wildcard $(TOP)/tools/*.c))
METADATA_DIRS := $(addprefix $(TOP)/,os persistent-data metadata write-log tools)
METADATA_HEADERS := $(foreach d,$(METADATA_DIRS),$(wildcard $(d)/*.h)) \
	$(TOP)/metadata/library.mk
