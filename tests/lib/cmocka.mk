# SPDX-License-Identifier: GPL-2.0-only
#
# Shared by the directories with cmocka programs: each lists in COMMON the objects
# that its programs need beside the metadata library, and includes this file.
#
# check	builds everything with AddressSanitizer and UBSan, and runs the tests
# lib	the metadata store and schema as a library, with the sanitizers
# tool	hearth-metadata, with the sanitizers
#
# ROUNDS=n multiplies the number of random operations, SEED=n chooses them.

TOP     := ../..
OUT     := $(TOP)/build/unit
VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' $(TOP)/dkms.conf)
SAN     := -fsanitize=address,undefined -fno-sanitize-recover=all
CFLAGS  ?= -O1 -g
ALL_CFLAGS := -std=gnu11 -Wall -Wextra -Werror $(SAN) -fno-omit-frame-pointer \
	   -I$(TOP) -I$(TOP)/tests/lib -DHEARTH_VERSION='"$(VERSION)"' $(CFLAGS)

include $(TOP)/metadata/library.mk
include $(TOP)/tests/lib/check.mk
LIB_OBJ := $(addprefix $(OUT)/,$(notdir $(METADATA_SOURCES:.c=.o)))
HEADERS := $(wildcard *.h $(TOP)/tests/lib/*.h) $(METADATA_HEADERS) Makefile \
	   $(TOP)/tests/lib/cmocka.mk $(TOP)/tests/lib/check.mk

TESTS   := $(patsubst test-%.c,%,$(wildcard test-*.c))
BINS    := $(TESTS:%=$(OUT)/test-%)

vpath %.c $(METADATA_DIRS) $(TOP)/tests/lib $(TOP)/tests/fuzz

all: lib tool $(BINS)

lib: $(OUT)/libhearth-metadata.a

tool: $(OUT)/hearth-metadata

check: all
	$(call run-tests,TOP=$(TOP))

$(OUT):
	mkdir -p $@

$(OUT)/%.o: %.c $(HEADERS) | $(OUT)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(OUT)/libhearth-metadata.a: $(LIB_OBJ)
	rm -f $@
	$(AR) rcs $@ $^

$(OUT)/hearth-metadata: $(OUT)/hearth-metadata.o $(OUT)/libhearth-metadata.a
	$(CC) $(ALL_CFLAGS) -o $@ $^
	ln -sf hearth-metadata $(OUT)/hearth-cache-repair

$(OUT)/test-%: $(OUT)/test-%.o $(COMMON:%=$(OUT)/%.o) $(OUT)/libhearth-metadata.a
	$(CC) $(ALL_CFLAGS) -o $@ $^ -lcmocka

clean:
	rm -rf $(OUT)

.PHONY: all lib tool check clean
.SECONDARY:
