# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The command hearth on real caches. The tests compare its output with what they did,
# and its effects with the reports of lvm2 and of the target.

hearth() {
	"$TOP/build/lvm-plugin/hearth" "$@"
}

# told FIELD [CACHE]: prints the first field of that name in the JSON of hearth status. An
# object of that name, as the times of each kind of request are, is passed over.
told() {
	hearth status --json "${2:-vg/lv}" >"$T/json"
	sed -nE "s/^ *\"$1\": \"?([^\",{]*)\"?,?$/\1/p" "$T/json" | head -n1
}

# fails_with CODE REGEX COMMAND...
fails_with() {
	local want=$1 why=$2 code=0
	shift 2
	"$@" >"$T/said" 2>&1 || code=$?
	cat "$T/said"
	assert_eq $code "$want" "exit status of $*"
	grep -qE "$why" "$T/said" || fail "no '$why' from $*"
}

# agrees: lvs and hearth status must report the same of vg/lv.
agrees() {
	udevadm settle
	hearth status
	lvs_is cache_total_blocks="$(told total_blocks)" cache_used_blocks="$(told used_blocks)" \
		cache_dirty_blocks="$(told dirty_blocks)" cache_mode="$(told table_mode)" \
		kernel_cache_policy="$(told policy)" \
		cache_read_hits="$(told read_hits)" cache_read_misses="$(told read_misses)" \
		cache_write_hits="$(told write_hits)" cache_write_misses="$(told write_misses)"
}

#@ fast timeout=120
test_status_agrees_with_lvs() {
	local hits
	standard_vg
	fails_with 0 'no cache is active' hearth status
	cached_lv pool writeback
	is_stock || no_promotion_limits vg-lv
	is_stock || message vg-lv writeback_idle 0
	write_data /dev/vg/lv 1 0 16
	# Without this, stock could write all blocks back before the test reads the
	# status.
	! is_stock || message vg-lv migration_threshold 0
	reads 0 8 1m
	reads 64 8 1m
	# The engine cannot write blocks back between the two reports.
	dmsetup suspend --noflush --nolockfs vg-lv_corig
	agrees
	assert_ge "$(told dirty_blocks)" 1 "dirty blocks"
	dmsetup resume vg-lv_corig
	assert_ge "$(told read_hits)" 256 "hits of what was written"
	if is_stock; then
		assert_eq "$(told engine)" kernel engine
	else
		assert_eq "$(told engine)" hearth engine
		assert_eq "$(told cache_sectors_written)" "$(counter vg-lv cache_sectors_written)" "written"
		message vg-lv mode writeonly
		assert_eq "$(told mode)/$(told table_mode)" writeonly/writeback mode
	fi
	hits=$(told read_hits)
	reads 0 8 1m
	assert_eq "$(($(told read_hits) - hits))" 256 "hits since"
	assert_eq "$(told health)" good health

	lvcreate -qq -y -L 4M -n plain vg "$DISK"
	lvchange -an vg/lv
	fails_with 3 'not active' hearth status vg/lv
	fails_with 3 'type is linear' hearth status vg/plain
	fails_with 3 'no such volume' hearth status vg/none
	fails_with 3 'no cache of that name' hearth status none
}

reactivated() {
	udevadm settle
	lvchange -an vg/lv
	lvchange -ay vg/lv
}

#@ fast hearth-only timeout=120
test_set_outlives_activation() {
	standard_vg
	cached_lv pool writeback
	hearth set vg/lv read_level=3 migration_threshold=4096 mode=writeonly
	reactivated
	assert_eq "$(told mode)" writeonly mode
	assert_eq "$(told read_level)" 3 "setting in the metadata"
	assert_eq "$(told migration_threshold)" 4096 "setting in LVM"
	lvs_is cache_mode=writeback cache_policy=smq cache_settings=migration_threshold=4096
	fails_with 1 'read_level=9 was refused: .*not in 0\.\.5' hearth set vg/lv read_level=9
	fails_with 1 'seqq_cutoff is not a setting of the policy smq' hearth set vg/lv seqq_cutoff=1
	fails_with 1 'visits is not a setting' hearth set vg/lv visits=3

	write_data /dev/vg/lv 1 0 8
	hearth set vg/lv --preset read-mostly
	assert_eq "$(told mode)/$(told dirty_blocks)" writearound/0 "mode and dirty blocks"
	lvs_is cache_mode=writethrough
	hearth set vg/lv mode=writeback policy=lru
	assert_eq "$(told mode)/$(told policy)" writeback/lru "mode and policy"
	check_data /dev/vg/lv 1 0 8
}

# since FIELD: prints that counter of vg/lv since the mark.
since() {
	hearth status --since before -o "$1" --noheadings vg/lv | tr -d ' '
}

#@ fast hearth-only timeout=90
test_counts_since_a_mark_go_on_after_activation() {
	local written
	standard_vg
	cached_lv pool writeback
	hearth mark before
	write_data /dev/vg/lv 1 0 16
	written=$(since cache_sectors_written)
	assert_ge "$written" 1000 "sectors written since the mark"
	# Five minutes have passed, so the command keeps the counters.
	touch -d '6 minutes ago' /var/lib/hearth/counters/vg-lv
	hearth status
	reactivated
	assert_le "$(told cache_sectors_written)" $((written - 1)) "sectors written since the activation"
	assert_ge "$(since cache_sectors_written)" "$written" "sectors written since the mark, activated anew"
	check_data /dev/vg/lv 1 0 16
	assert_ge "$(since read_hits)" 16 "hits since the mark"
}

# The modes of the table and of messages, then a cache that cleaner drains, then one
# that was given up.
#@ slow hearth-only timeout=150
test_status_agrees_with_lvs_in_every_state() {
	local mode
	standard_vg
	cached_lv pool writeback
	write_data /dev/vg/lv 1 0 8
	# Drained, so that nothing changes between the two reports.
	hearth drain vg/lv
	for mode in writeonly writeback writethrough writearound passthrough; do
		hearth set vg/lv "mode=$mode"
		reads 0 16 256k
		until_true 20 is_at_rest vg-lv || fail "$mode: the status keeps changing"
		agrees
		assert_eq "$(told mode)" "$mode" mode
		lvs_is lv_health_status= lv_check_needed=
	done
	lvchange -qq -y --cachemode writethrough vg/lv
	lvchange -qq -y --cachepolicy cleaner vg/lv
	agrees
	lvchange -qq -y --cachepolicy smq vg/lv
	dmesg_allow 'device-mapper: cache'
	dies vg-fast_cpool_cdata
	reads 0 8 256k
	assert_eq "$(told health)" bypass health
	agrees
	lvs_is lv_health_status=metadata_read_only lv_check_needed=
	lvconvert -qq -y --uncache vg/lv
}

#@ fast hearth-only timeout=90
test_json_of_a_real_cache() {
	standard_vg
	cached_lv pool writeback
	write_data /dev/vg/lv 1 0 8
	reads 0 16 256k
	printf 'fio version 2 iolog\n/dev/x add\n/dev/x open\n' >"$T/log"
	for ((i = 0; i < 50; i++)); do
		echo "/dev/x read $((i % 7 * 65536)) 4096"
	done >>"$T/log"
	PYTHONDONTWRITEBYTECODE=1 "$TOP/build/venv/bin/python" "$TOP/tests/lvm-plugin/real.py" "$TOP/build/lvm-plugin/hearth" vg/lv "$T/log"
	assert_eq "$(field segtype)" linear type
}

# with_stock: stock opens vg/lv, and the volume's data is as before.
with_stock() {
	lvchange -an vg/lv
	load_engine stock
	lvchange -ay vg/lv
	assert_ge "$(stat_of vg-lv used)" 100 "blocks taken over"
	check_data /dev/vg/lv 1 0 8
	lvchange -an vg/lv
	load_engine hearth
	lvchange -ay vg/lv
}

#@ slow hearth-only timeout=240
test_stock_opens_every_preset() {
	local preset
	standard_vg
	cached_lv pool writethrough
	write_data /dev/vg/lv 1 0 8
	warm vg-lv 8 100
	for preset in general database read-mostly streaming low-wear; do
		hearth set vg/lv --preset $preset
		with_stock
	done
}

#@ slow hearth-only timeout=180
test_stock_opens_the_profiles_that_say_so() {
	local name
	mkdir -p "$LVM_SYSTEM_DIR/profile"
	cp "$TOP"/lvm-plugin/profiles/*.profile "$LVM_SYSTEM_DIR/profile"
	standard_vg
	lvcreate -qq -y -L 64M -n lv vg "$DISK"
	for name in general database streaming; do
		lvcreate -qq -y --type cache-pool --metadataprofile hearth-$name -L 32M -n fast vg "$SSD"
		lvconvert -qq -y --type cache --cachepool vg/fast vg/lv
		lvchange -an vg/lv
		load_engine stock
		if [ $name = streaming ]; then
			dmesg_allow 'device-mapper: cache'
			must_fail lvchange -ay vg/lv
		else
			lvchange -ay vg/lv
			lvchange -an vg/lv
		fi
		load_engine hearth
		lvconvert -qq -y --uncache vg/lv
	done
}

# times_of KIND: prints the number of timed requests and their nanoseconds. It reads
# both at one moment, because udev may read meanwhile.
times_of() {
	message c stats | awk -v nr="timed_$1" -v ns="$1_ns" '$1 == nr { a = $2 } $1 == ns { b = $2 } END { print a, b }'
}

# timed KIND HOW_MANY MILLISECONDS_LEAST MOST COMMAND...: the engine must time at least
# so many requests of the command, with a mean between the two limits.
timed() {
	local kind=$1 want=$2 least=$3 most=$4 before after nr ns
	shift 4
	read -ra before < <(times_of "$kind")
	"$@"
	read -ra after < <(times_of "$kind")
	nr=$((after[0] - before[0])) ns=$((after[1] - before[1]))
	# udev reads the written data, and its reads are hits, too
	[ "$want" != 0 ] || assert_eq $nr 0 "$kind timed"
	assert_ge $nr "$want" "$kind timed"
	assert_ge $ns $((nr * least * 1000000)) "time of $kind"
	assert_le $ns $((nr * most * 1000000)) "time of $kind"
}

read_block() {
	dd if=/dev/mapper/c of=/dev/null bs=4k skip=$((16 * $1)) count=8 iflag=direct status=none
}

# write_block NUMBER KIB_AT_A_TIME COUNT
write_block() {
	dd if=/dev/zero of=/dev/mapper/c bs="$2k" seek=$((64 * $1 / $2)) count="$3" oflag=direct \
		conv=notrunc status=none
}

#@ slow hearth-only timeout=90
test_status_tells_hits_from_misses() {
	device META 8 ram
	device FAST 16 1000000ns
	device SLOW 64 300000000ns
	zero "$META" 1
	by_hand c 128 "metadata2 writeback"
	message c mode writeonly
	udevadm settle
	timed read_misses 0 0 0 read_block 62
	timed read_misses 8 300 3000 read_block 63
	timed write_misses 1 1 299 write_block 63 64 1
	timed read_hits 8 1 299 read_block 63
	timed write_hits 4 1 299 write_block 63 4 4
	hearth status c
	hearth status c | any_line -E '^  a hit +reads [0-9a-z./]+  writes [0-9a-z./]+ \(p50/p99/p99.9\)$'
	hearth status c | any_line -E '^  a miss +reads ([0-9]{3}ms|[0-9.]+s)/\S+  writes \S+$'
}

draining() {
	[ "$(stat_of vg-lv policy)" = cleaner ]
}

#@ fast hearth-only timeout=150
test_drain_interrupted_and_resumed() {
	local pid code=0
	device DISK 256 150000000ns
	device SSD 96 ssd
	vgcreate -qq -y vg "$DISK" "$SSD"
	cached_lv pool writeback
	stays_dirty vg-lv
	write_data /dev/vg/lv 1 0 30
	# the cache writes one block back at a time
	message vg-lv migration_threshold 0
	assert_ge "$(told dirty_blocks)" 250 dirty
	"$TOP/build/lvm-plugin/hearth" drain vg/lv &
	pid=$!
	until_true 60 draining || fail "the drain does not begin"
	kill -INT $pid
	wait $pid || code=$?
	assert_eq $code 130 "exit status when interrupted"
	assert_ge "$(told dirty_blocks)" 1 "dirty after the interruption"
	lvs_is cache_mode=writeback cache_policy=smq
	assert_eq "$(told table_mode)/$(told policy)" writeback/smq "table"
	message vg-lv migration_threshold 8192
	hearth drain vg/lv
	assert_eq "$(told dirty_blocks)/$(told table_mode)" 0/writeback "after the drain"
	lvs_is cache_mode=writeback cache_policy=smq
	check_data /dev/vg/lv 1 0 30
}

#@ slow hearth-only timeout=90
test_drain_by_hand() {
	local table
	by_hand_devices
	by_hand c 128 "metadata2 writeback" "default 2 read_level 1"
	stays_dirty c
	table=$(dmsetup table c)
	write_data /dev/mapper/c 1 0 8
	assert_ge "$(told dirty_blocks c)" 64 dirty
	hearth drain c
	assert_eq "$(told dirty_blocks c)" 0 dirty
	assert_eq "$(dmsetup table c)" "$table" table
	hearth set c policy=lru mode=writearound
	assert_match "$(dmsetup table c)" '2 metadata2 writethrough lru 2 read_level 1$' table
	assert_eq "$(told mode c)" writearound mode
	check_data /dev/mapper/c 1 0 8
}

#@ slow timeout=150 on=pool,vol
test_split_and_uncache() {
	standard_vg
	cached_lv "$1" writeback
	write_data /dev/vg/lv 1 0 16
	hearth split vg/lv
	assert_eq "$(field segtype)" linear type
	check_data /dev/vg/lv 1 0 16
	lvconvert -qq -y --type cache "--cache$1" vg/fast --cachemode writeback vg/lv
	write_data /dev/vg/lv 2 0 8
	hearth uncache vg/lv
	assert_eq "$(lvs --noheadings vg | wc -l)" 1 volumes
	check_data /dev/vg/lv 2 0 8
	check_data /dev/vg/lv 1 8 8
}

#@ slow hearth-only timeout=90
test_profile_reaches_the_target() {
	mkdir -p "$LVM_SYSTEM_DIR/profile"
	cp "$TOP"/lvm-plugin/profiles/*.profile "$LVM_SYSTEM_DIR/profile"
	standard_vg
	lvcreate -qq -y -L 64M -n lv vg "$DISK"
	lvcreate -qq -y --type cache-pool --metadataprofile hearth-low-wear -L 32M -n fast vg "$SSD"
	lvconvert -y --type cache --cachepool vg/fast vg/lv
	# The volume group has the profile's settings now.
	rm -r "$LVM_SYSTEM_DIR/profile"
	reactivated
	assert_eq "$(told mode)/$(told policy)" writethrough/heat "mode and policy"
	assert_eq "$(told read_level)/$(told seq_again)/$(told max_promote_share)" 3/0/25 settings
	hearth set vg/lv read_level=4
	assert_match "$(field cache_settings)" '(^|,)read_level=4(,|$)' "setting in LVM"
	assert_eq "$(told read_level)" 4 "setting that the table had"
}

# seen: top has shown a round in which every read was a hit.
seen() {
	grep -qE '^vg/lv +back .* [1-9][^ ]* +100\.0 ' "$T/top"
}

# reads_of CACHE: prints how many reads, cut at the borders of blocks, the cache has counted.
reads_of() {
	hearth status --noheadings -o read_hits,read_misses "$1" | awk '{ print $1 + $2 }'
}

# completes WANT WORD...: bash completes the last word of "hearth WORD..." to WANT.
completes() {
	local want=$1 COMP_WORDS COMP_CWORD COMPREPLY=()
	shift
	COMP_WORDS=(hearth "$@") COMP_CWORD=$#
	_hearth
	assert_eq "${COMPREPLY[*]}" "$want" "completion of hearth $*"
}

# Commands that take one of two caches leave the other alone, and the others show both.
#@ fast hearth-only timeout=90
test_two_caches() {
	local before
	standard_vg
	LV_MIB=64 CACHE_MIB=16 cached_lv pool writethrough
	lvcreate -qq -y -L 64M -n two vg "$DISK"
	lvcreate -qq -y -L 16M -n quick vg "$SSD"
	lvconvert -y --type cache --cachevol vg/quick --cachemode writethrough vg/two
	assert_eq "$(hearth status --noheadings -o name | xargs)" "vg/lv vg/two" "caches in status"
	assert_eq "$(hearth status --noheadings -o name -S pool=quick | xargs)" vg/two "cache of the pool quick"
	# shellcheck source=/dev/null
	. "$TOP/lvm-plugin/completion/hearth.bash"
	completes "vg/lv vg/two" status vg/
	completes vg/two set vg/t
	udevadm settle
	before=$(reads_of vg/lv)
	fio_quiet --readonly --filename=/dev/vg/two --rw=randread --bs=4k --size=8m --io_size=4m
	assert_ge "$(reads_of vg/two)" 1024 "reads of vg/two"
	assert_eq "$(reads_of vg/lv)" "$before" "reads of vg/lv"
	hearth set vg/two mode=writeback absorb=off
	assert_eq "$(lvs --noheadings -o cache_mode vg/lv vg/two | xargs)" "writethrough writeback" modes
	write_data /dev/vg/two 1 0 8
	assert_eq "$(hearth top --count 1 | grep -c '^vg/')" 2 "lines of top"
	assert_eq "$(hearth top --count 1 vg/two | grep -c '^vg/')" 1 "lines of top vg/two"
	hearth export >"$T/prom"
	assert_eq "$(grep -c '^hearth_cache_healthy{' "$T/prom")" 2 "caches in export"
	hearth drain vg/two
	assert_eq "$(told dirty_blocks vg/two)" 0 "dirty blocks of vg/two"
	hearth uncache vg/two
	assert_eq "$(hearth status --noheadings -o name | xargs)" vg/lv "caches that are left"
	check_data /dev/vg/two 1 0 8
}

# The test runs the other commands together, on a sound cache and on one with a fault.
#@ fast hearth-only timeout=90
test_doctor_top_and_export() {
	local pid i
	standard_vg
	cached_lv pool writethrough
	fails_with 0 'vg/lv: in good health' hearth doctor
	hearth set vg/lv mode=writeback
	fails_with 6 'on a cache device that is not mirrored' hearth doctor
	# Write-back would change the number between two looks at it.
	message vg-lv writeback_idle 0
	write_data /dev/vg/lv 1 0 8
	# A block that leaves the write log for the cache counts in both for a moment.
	until_true 30 is_at_rest vg-lv || fail "the cache is not at rest"
	hearth export --file "$T/hearth.prom"
	assert_eq "$(sed -n 's/^hearth_cache_dirty_bytes{cache="vg\/lv",vg="vg",lv="lv",device="dm-[0-9]*"} //p' "$T/hearth.prom")" \
		$((65536 * $(told dirty_blocks))) "dirty bytes"
	hearth report -o "$T/page.html"
	grep -q '"name": "vg/lv"' "$T/page.html" || fail "the page does not have the cache"
	"$TOP/build/lvm-plugin/hearth" top --interval 1 >"$T/top" &
	pid=$!
	for ((i = 0; i < 20; i++)); do
		if seen; then break; fi
		reads 0 8 2m
	done
	kill $pid
	cat "$T/top"
	seen || fail "top does not show that all reads hit"
}

is_recorded() {
	grep -q 1 /sys/kernel/tracing/instances/hearth-*/events/block/block_bio_queue/enable
}

#@ fast hearth-only timeout=90
test_advise_live() {
	local pid
	standard_vg
	mount_trace
	lvcreate -qq -y -L 64M -n plain vg "$DISK"
	# otherwise the command would also record udev's reads of the new volume
	udevadm settle
	"$TOP/build/lvm-plugin/hearth" advise --live vg/plain --json >"$T/advice" &
	pid=$!
	until_true 20 is_recorded || fail "advise records nothing"
	fio_quiet --filename=/dev/vg/plain --rw=randread --bs=64k --size=16M --io_size=20M
	kill -INT $pid
	wait $pid
	cat "$T/advice"
	assert_eq "$(sed -n 's/^ *"requests": \([0-9]*\),*$/\1/p' "$T/advice" | head -n 1)" 320 requests
	if ls -d /sys/kernel/tracing/instances/hearth-*; then fail "advise has left its trace instance behind"; fi
}

# monitoring: installs all files that make dmeventd watch caches, where make install
# puts them, and logs what it reports.
monitoring() {
	trap monitoring_over EXIT
	mkdir -p /usr/lib/hearth /etc/hearth /run/udev/rules.d
	cp "$TOP/build/lvm-plugin/hearth" /usr/sbin/hearth
	cp "$TOP/build/lvm-plugin/libdevmapper-event-hearth.so" /usr/lib/hearth
	cp "$TOP/lvm-plugin/dmeventd/96-hearth-monitor.rules" /run/udev/rules.d
	udevadm control --reload
	printf '#!/bin/sh\necho "$*" >>%s/told\n' "$T" >"$T/tell"
	chmod +x "$T/tell"
	printf '%s\n' 'interval = 1' 'dirty_percent = 5' 'dirty_seconds = 2' "command = $T/tell" \
		>/etc/hearth/monitor.conf
	touch "$T/told" "$T/syslog"
	python3 -c 'import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("/dev/log")
while True:
    print(s.recv(4096).decode(), flush=True)' >"$T/syslog" &
	until_true 60 test -e /dev/log
	# A dmeventd that udev starts would not live long.
	dmeventd
}

monitoring_over() {
	local code=$?
	cat "$T/told" "$T/syslog"
	rm -f /run/udev/rules.d/96-hearth-monitor.rules
	udevadm control --reload
	[ ! -e /run/dmeventd.pid ] || kill "$(cat /run/dmeventd.pid)"
	kill %1
	rm -f /dev/log /usr/sbin/hearth /etc/hearth/monitor.conf
	exit $code
}

is_monitored() {
	hearth monitor --json vg/lv | any_line '"monitored": true'
}

told_of() {
	grep -q "$1" "$T/told"
}

#@ fast hearth-only timeout=120
test_dmeventd_watches_and_tells() {
	monitoring
	standard_vg
	cached_lv pool writeback
	until_true 20 is_monitored || fail "udev's rule did not make dmeventd watch the cache"
	# The engine cannot write blocks back while the origin is suspended.
	write_data /dev/vg/lv 1 0 8
	dmsetup suspend --noflush --nolockfs vg-lv_corig
	until_true 20 told_of '^vg/lv dirty begins 2[0-9]% of the cache is dirty' || fail "dmeventd did not report dirty data"
	dmsetup resume vg-lv_corig
	hearth drain --stay vg/lv
	until_true 20 told_of '^vg/lv dirty over' || fail "dmeventd did not report that the data is clean again"

	lvchange -an vg/lv
	lvchange -ay vg/lv
	until_true 20 is_monitored || fail "dmeventd does not watch the cache after another activation"
	assert_eq "$(grep -vc dirty "$T/told")" 0 "other things told"

	dmesg_allow 'device-mapper: cache'
	dies vg-fast_cpool_cdata
	reads 0 8 1m
	until_true 20 told_of '^vg/lv health begins bypass: ' || fail "dmeventd did not report the health"
	told_of '^vg/lv cache-device-errors begins' || fail "dmeventd did not report the device's errors"
	grep -q 'hearth: vg/lv: health: bypass: the cache was given up' "$T/syslog" || fail "dmeventd did not write to the system's log"

	lvconvert -qq -y --uncache vg/lv
	until_true 20 no_longer_watched || fail "dmeventd still watches the uncached volume"
}

# steady MIB SECONDS: reads the 8 MiB at MIB for so long.
steady() {
	fio_quiet --readonly --filename=/dev/vg/lv --rw=randread --bs=4k --offset="$1M" --size=8M \
		--time_based --runtime="$2"
}

#@ slow hearth-only timeout=180
test_dmeventd_tells_of_metadata_and_hits() {
	monitoring
	printf '%s\n' 'interval = 1' 'metadata_percent = 1' 'hits_seconds = 5' "command = $T/tell" \
		>/etc/hearth/monitor.conf
	device DISK 256 disk
	device SSD 256 ssd
	vgcreate -y vg "$DISK" "$SSD"
	lvcreate -qq -y -L 128M -n lv vg "$DISK"
	# The pool has so many blocks that even an empty mapping takes more than one
	# percent of the metadata.
	lvcreate -qq -y --type cache-pool -L 160M --chunksize 32k --poolmetadatasize 8M -n fast vg "$SSD"
	lvconvert -y --type cache --cachepool vg/fast --cachemode writeback vg/lv
	until_true 20 told_of '^vg/lv metadata-full begins [1-9]% of the metadata device is used' || fail "dmeventd did not report the full metadata"
	# The manual says that nobody can extend it.
	must_fail lvextend -y --poolmetadatasize +4M vg/lv
	must_fail lvextend -y --poolmetadatasize +4M vg/fast_cpool
	must_fail lvextend -y -L +4M vg/fast_cpool_cmeta
	sed -i 's/metadata_percent = 1/metadata_percent = 80/' /etc/hearth/monitor.conf
	until_true 20 told_of '^vg/lv metadata-full over' || fail "dmeventd did not report that the metadata has room again"

	message vg-lv mode writeonly
	write_data /dev/vg/lv 1 0 8
	steady 0 25
	assert_eq "$(grep -c hits-fell "$T/told")" 0 "told of the hits too early"
	steady 64 15
	until_true 10 told_of '^vg/lv hits-fell begins [0-9.]*% of the requests hit, where [19][0-9.]*% are usual' || fail "dmeventd did not report that the hits fell"
	steady 0 15
	until_true 10 told_of '^vg/lv hits-fell over' || fail "dmeventd did not report that the hits rose again"
	assert_eq "$(wc -l <"$T/told")" 4 "things told"
}

no_longer_watched() {
	grep -q 'no longer watching vg-lv' <(tail -n 2 "$T/syslog")
}

#@ slow hearth-only timeout=150
test_dmeventd_tells_of_needs_check() {
	# shellcheck source=tests/guest/suites/health.sh
	. "$(dirname "${BASH_SOURCE[0]}")/health.sh"
	monitoring
	sick_lv 8 pool
	until_true 20 is_monitored || fail "dmeventd does not watch the cache"
	provoke
	until_true 20 told_of '^vg/lv needs-check begins' || fail "dmeventd did not report needs-check"
	told_of '^vg/lv health begins read-only: ' || fail "dmeventd did not report the health"
	fails_with 6 "marked as needing a check" hearth doctor
	recovers
}

#@ fast hearth-only timeout=120
test_cache_on_a_bare_ssd() {
	device NEW 96 ssd
	device DISK 256 disk
	vgcreate -qq -y vg "$DISK"
	lvcreate -qq -y -L 64M -n lv vg "$DISK"
	write_data /dev/vg/lv 1 0 16
	hearth cache vg/lv "$NEW" --dry-run
	assert_eq "$(field segtype)" linear "type after the dry run"
	hearth cache vg/lv "$NEW" --mode writeonly --preset database
	assert_eq "$(on_which vg/lv_cache_cpool_cdata) $(on_which vg/lv_cache_cpool_cmeta)" "$NEW $NEW" devices
	assert_eq "$(told mode)/$(told read_level)" writeonly/1 "mode and setting"
	assert_ge "$(told total_blocks)" 1000 "blocks of 95 MiB"
	fails_with 0 'cached already, by vg/lv_cache' hearth cache vg/lv "$NEW"
	check_data /dev/vg/lv 1 0 16
	hearth uncache vg/lv
	assert_eq "$(lvs --noheadings vg | wc -l)" 1 volumes
	check_data /dev/vg/lv 1 0 16
}

# killed_after MILLISECONDS WORD...: hearth WORD... gets SIGKILL after that time, and so does LVM's
# command that it runs.
killed_after() {
	local ms=$1 pid
	shift
	setsid "$TOP/build/lvm-plugin/hearth" "$@" >"$T/said" 2>&1 &
	pid=$!
	sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
	kill -KILL -- "-$pid" || true
	wait "$pid" || true
	cat "$T/said"
}

# milliseconds COMMAND...: prints how long the command takes.
milliseconds() {
	local began=${EPOCHREALTIME/./}
	"$@" >/dev/null
	echo $(((${EPOCHREALTIME/./} - began) / 1000))
}

# goes_on WORD...: hearth WORD... does what a killed one left to do. If LVM was killed while it
# made the pool, the message names the command that removes what LVM left.
goes_on() {
	local remedy=()
	if ! hearth "$@" >"$T/said" 2>&1; then
		cat "$T/said"
		read -ra remedy < <(sed -nE "s/.* '(lvremove [^']*)'.*/\1/p" "$T/said") || true
		[ ${#remedy[@]} != 0 ] || fail "hearth $* does not go on"
		"${remedy[@]}" -y
		hearth "$@"
	fi
}

# The kills are spread over the time that each command takes.
#@ slow hearth-only timeout=600
test_cache_and_uncache_killed_inside_lvm() {
	local make take i kills=10
	device NEW 96 ssd
	device DISK 256 disk
	vgcreate -qq -y vg "$DISK"
	lvcreate -qq -y -L 64M -n lv vg "$DISK"
	write_data /dev/vg/lv 1 0 16
	make=$(milliseconds hearth cache vg/lv "$NEW" --mode writeback)
	take=$(milliseconds hearth uncache vg/lv)
	for ((i = 0; i < kills; i++)); do
		killed_after $((make * i / kills)) cache vg/lv "$NEW" --mode writeback
		goes_on cache vg/lv "$NEW" --mode writeback
		assert_eq "$(told mode)" writeback "mode after kill $i"
		write_data /dev/vg/lv $((i + 2)) 0 16
		killed_after $((take * i / kills)) uncache vg/lv
		[ "$(field segtype)" = linear ] || goes_on uncache vg/lv
		assert_eq "$(lvs --noheadings vg | wc -l)" 1 "volumes after kill $i"
		check_data /dev/vg/lv $((i + 2)) 0 16
	done
}

# on_which vg/LV: prints the device of a hidden volume.
on_which() {
	lvs -a --noheadings -o devices "$1" | sed 's/(.*//; s/ //g'
}

is_in_no_group() {
	assert_eq "$(pvs --noheadings -o vg_name "$1" | tr -d ' ')" "" "group of $1"
}

#@ fast hearth-only timeout=150
test_replace_a_living_ssd() {
	device NEW 96 ssd
	standard_vg
	cached_lv pool writeback --cachesettings migration_threshold=4096
	hearth set vg/lv read_level=3 mode=writeonly
	write_data /dev/vg/lv 1 0 16
	fails_with 1 'needs 1.0 GiB' hearth replace-ssd --size 1 vg/lv "$NEW"
	hearth replace-ssd vg/lv "$NEW"
	assert_eq "$(on_which vg/fast_cpool_cdata) $(on_which vg/fast_cpool_cmeta)" "$NEW $NEW" devices
	is_in_no_group "$SSD"
	assert_eq "$(told mode)/$(told table_mode)/$(told read_level)" writeonly/writeback/3 "mode and setting"
	lvs_is cache_mode=writeback cache_policy=smq cache_settings=migration_threshold=4096
	assert_eq "$(find /var/lib/hearth -name 'replace-*')" "" "what is kept"
	fails_with 1 'on that device already' hearth replace-ssd vg/lv "$NEW"
	check_data /dev/vg/lv 1 0 16
}

# is_refused WHY COMMAND...: the command fails, and the cache stays as it was, on the
# old SSD.
is_refused() {
	fails_with 1 "$@"
	grep -q "its cache is as it was, on $SSD, in writeback" "$T/said" || fail "the message does not say in which state the volume is"
	assert_eq "$(on_which vg/fast_cpool_cdata)" "$SSD" device
	assert_eq "$(find /var/lib/hearth -name 'replace-*' 2>/dev/null)" "" "what is kept"
}

#@ slow hearth-only timeout=150
test_replace_by_a_device_that_will_not_do() {
	device NEW 96 ssd
	standard_vg
	cached_lv pool writeback
	write_data /dev/vg/lv 1 0 16
	mkfs.ext4 -q "$NEW"
	is_refused 'holds something already \(ext4\)' hearth replace-ssd vg/lv "$NEW"
	mount "$NEW" /mnt
	is_refused 'is in use' hearth replace-ssd --force vg/lv "$NEW"
	umount /mnt
	is_refused 'the volume itself is on this disk' hearth replace-ssd vg/lv "$DISK"
	is_refused 'No such file' hearth replace-ssd vg/lv /dev/nosuch
	wipefs -qa "$NEW"
	ln -s "$NEW" "$T/alias"
	echo 1 >"/sys/block/${NEW#/dev/}/queue/rotational"
	is_refused 'rotating' hearth replace-ssd vg/lv "$T/alias"
	echo 0 >"/sys/block/${NEW#/dev/}/queue/rotational"
	hearth replace-ssd vg/lv "$T/alias"
	assert_eq "$(on_which vg/fast_cpool_cdata)" "$NEW" device
	is_in_no_group "$SSD"
	fails_with 1 'on that device already' hearth replace-ssd vg/lv "$T/alias"
	check_data /dev/vg/lv 1 0 16
}

# ssd_dies: takes the SSD's power away, and LVM reports that it is missing.
ssd_dies() {
	lvchange -an vg/lv
	echo 0 >"$NULLB/nullbSSD/power"
	udevadm settle
	assert_eq "$(field lv_health_status)" partial health
}

#@ slow hearth-only timeout=150
test_replace_a_dead_ssd() {
	device NEW 96 ssd
	standard_vg
	cached_lv vol writethrough
	write_data /dev/vg/lv 1 0 16
	ssd_dies
	hearth replace-ssd vg/lv "$NEW"
	assert_eq "$(on_which vg/fast_cvol)" "$NEW" device
	lvchange -ay vg/lv
	assert_eq "$(told mode)" writethrough mode
	check_data /dev/vg/lv 1 0 16
}

#@ slow hearth-only timeout=150
test_replace_a_dead_ssd_that_was_dirty() {
	device NEW 96 ssd
	standard_vg
	cached_lv pool writeback
	write_data /dev/vg/lv 1 0 16
	hearth drain vg/lv
	write_data /dev/vg/lv 2 16 16
	ssd_dies
	fails_with 1 'only copy of some data' hearth replace-ssd vg/lv "$NEW"
	assert_eq "$(field segtype)" cache type
	hearth replace-ssd --force vg/lv "$NEW"
	assert_eq "$(on_which vg/fast_cpool_cdata)" "$NEW" device
	lvchange -ay vg/lv
	assert_eq "$(told mode)" writeback mode
	check_data /dev/vg/lv 1 0 16
}

#@ fast hearth-only timeout=60
test_doctor_loads_the_right_module() {
	load_engine stock
	# This is the state after hearth was installed beside a loaded stock module.
	install_engine hearth
	fails_with 6 "hearth is installed, but the kernel's own target is loaded" hearth doctor --fix </dev/null
	[ ! -e /sys/module/dm_cache/version ] || fail "the module was replaced without an answer"
	echo y | hearth doctor --fix >"$T/said" || true
	cat "$T/said"
	grep -q 'hearth is loaded for kernel' "$T/said"
	[ -e /sys/module/dm_cache/version ] || fail "the module was not replaced"
	modprobe dm-cache-smq
}

# ---- A first-time user, at a terminal of 80x24

at_terminal() {
	tmux -L first "$@"
}

terminal() {
	trap terminal_over EXIT
	# The shell must not write to the host's /root.
	mount -t tmpfs tmpfs /root
	# The number tells one prompt from the next.
	echo "PS1='ready \# \$?: '" >"$T/rc"
	at_terminal -f /dev/null new-session -d -x 80 -y 24 -s user "exec bash --rcfile $T/rc"
	until_true 30 prompt 1 || fail "the terminal shows no prompt"
	PROMPT=1
}

terminal_over() {
	local code=$?
	at_terminal capture-pane -p -t user || true
	at_terminal kill-server || true
	! mountpoint -q /srv || umount /srv
	! mountpoint -q /root || umount /root
	(exit $code) || monitoring_over
	monitoring_over
}

# screen: prints the terminal's content; a wrapped line is one line again.
screen() {
	at_terminal capture-pane -p -J -t user
}

# prompt NUMBER [CODE]: the last line is this prompt, and the command before it ended
# with CODE.
prompt() {
	screen | grep -v '^$' | tail -n 1 | any_line -E "^ready $1 ${2:-[0-9]+}: *$"
}

types() {
	at_terminal send-keys -t user -l -- "clear; $1"
	at_terminal send-keys -t user Enter
}

# ends CODE: the running command ends with CODE, and no line was wider than 80 columns.
ends() {
	PROMPT=$((PROMPT + 1))
	until_true 60 prompt $PROMPT || fail "the command does not end"
	screen
	prompt $PROMPT "$1" || fail "the command did not exit with $1"
	assert_le "$(screen | wc -L)" 80 width
}

shows() {
	screen | any_line -E "$1"
}

# page_says: prints the page's own commands, with this guest's devices and sizes.
page_says() {
	sed -n '/^\.SH EXAMPLES/,/^Writeback keeps the only copy/p' "$TOP/man/hearth.8" | sed -n '/^\.nf/,/^\.fi/p' | grep -v '^\.' |
		sed "s|/dev/sdb|$DISK|; s|/dev/nvme0n1|$SSD|; s|100G|32M|"
}

#@ slow hearth-only timeout=300
test_first_time_user() {
	local line
	monitoring
	mount_trace
	device DISK 256 disk
	device SSD 96 ssd
	terminal
	types "hearth --help"
	ends 0
	# The first line is still on the screen when the prompt appears.
	screen | sed -n 1p | any_line '^Usage: hearth'
	page_says >"$T/lines"
	assert_eq "$(wc -l <"$T/lines")" 12 "lines of the manual"
	while read -r line <&3; do
		types "$line"
		case $line in
		lvconvert*)
			until_true 60 shows 'Do you want wipe existing metadata .*\[y/n\]: *$'
			at_terminal send-keys -t user y Enter
			ends 0
			;;
		"hearth doctor")
			ends 0
			shows 'vg/data: in good health'
			;;
		"hearth monitor")
			ends 0
			shows '^vg/data: monitored$'
			;;
		"hearth status"*)
			ends 0
			screen | sed -n 1p | any_line '^vg/data  writethrough, policy smq (heat), good$'
			;;
		"hearth advise"*)
			until_true 30 is_recorded || fail "advise records nothing"
			fio_quiet --filename=/srv/file --rw=randread --bs=64k --size=8M --io_size=16M --direct=1
			at_terminal send-keys -t user C-c
			ends 0
			shows '^requests .* touched'
			shows 'nearly as much disk time as the best of these\.$'
			grep -q '</svg>' /root/ssd.svg
			;;
		"hearth top")
			until_true 30 shows '^vg/data +thru '
			fio_quiet --filename=/srv/file --rw=randread --bs=4k --size=8M --direct=1 \
				--time_based --runtime=20 &
			until_true 30 shows '^vg/data +thru +[0-9.]+ +[0-9.]+ +[1-9][0-9.k]* ' || fail "top shows no reads"
			screen | tee "$T/top"
			wait $!
			assert_le "$(wc -L <"$T/top")" 80 "width of top"
			assert_eq "$(grep -c '^CACHE' "$T/top")" 1 "heads"
			at_terminal send-keys -t user q
			ends 0
			;;
		*) ends 0 ;;
		esac
	done 3<"$T/lines"
	assert_eq "$(told max_promote_share vg/data)" 25 "what low-wear sets"
	hearth status vg/data
}

# in_buckets KIND FROM TO: prints how many requests these buckets of a histogram have.
in_buckets() {
	message c stats | awk -v "kind=latency_$1" -v from="$2" -v to="$3" \
		'$1 == kind { for (i = from; i <= to; i++) sum += $(i + 2); print sum + 0 }'
}

log_is_on() {
	[ "$(counter c log)" = on ]
}

# The origin takes 300 ms, and bucket 18 begins at 2^28 ns (268 ms).
#@ fast hearth-only timeout=90
test_histograms_tell_devices_apart() {
	local kind reads hits
	device META 8 ram
	device FAST 16 1000000ns
	device SLOW 64 300000000ns
	zero "$META" 1
	by_hand c 128 "metadata2 writeback"
	stays_dirty c
	udevadm settle
	message c mode writeonly
	reads=$(in_buckets read_misses 18 23)
	read_block 63
	assert_eq "$(in_buckets read_misses 18 23)" $((reads + 8)) "reads that took 268 ms and more"
	assert_eq "$(in_buckets read_misses 0 17)" 0 "reads of the origin in less than that"

	message c absorb 1
	until_true 60 log_is_on
	write_block 127 4 2
	hits=$(in_buckets read_hits 0 23)
	dd if=/dev/mapper/c of=/dev/null bs=4k skip=$((16 * 127)) count=2 iflag=direct status=none
	assert_ge "$(in_buckets absorbed 0 17)" 2 "absorbed writes"
	assert_eq "$(in_buckets write_misses 0 23)" 0 "write misses"
	assert_ge "$(in_buckets read_hits 0 23)" $((hits + 2)) "reads that the log served"
	# Without this the origin would have nothing to flush.
	blkdiscard -o 16M -l 1M /dev/mapper/c
	sync -d /dev/mapper/c
	for kind in cache_flushes origin_flushes; do
		assert_ge "$(in_buckets $kind 0 23)" 1 $kind
	done
	for kind in read_hits read_misses write_hits write_misses absorbed cache_flushes origin_flushes; do
		assert_eq "$(in_buckets $kind 0 23)" "$(counter c timed_$kind)" "requests of $kind in all buckets"
	done
	hearth status c | any_line -E '^  absorbed +writes [0-9a-z./]+$'
	hearth status --json c | python3 -c '
import json, sys
latency = json.load(sys.stdin)["caches"][0]["latency"]
assert latency["read_misses"]["p50_ms"] >= 268 > latency["absorbed"]["p50_ms"]'
	hearth export | any_line 'hearth_cache_request_seconds_bucket{.*kind="absorbed",le="+Inf"} [1-9]'
}

# fio replays a load on real volumes; the volume that is asked about is not written.
#@ fast hearth-only timeout=120
test_bench_leaves_the_volume_alone() {
	standard_vg
	lvcreate -qq -y -L 32M -n lv vg "$DISK"
	write_data /dev/vg/lv 7 0 32
	{
		printf 'fio version 2 iolog\nv add\nv open\n'
		awk 'BEGIN { for (i = 0; i < 600; i++) printf "v %s %d 4096\n", i % 4 ? "read" : "write", i * 7919 % 400 * 65536 }'
		echo 'v close'
	} >"$T/load.log"
	hearth bench vg/lv "$T/load.log" "$SSD" --size 0.03125 --json >"$T/bench.json"
	python3 -c '
import json, sys
passes = json.load(sys.stdin)["passes"]
assert [p["name"] for p in passes] == ["uncached", "cold", "warm"]
assert all(p["reads"]["p99_ms"] > 0 and p["writes"]["requests_per_second"] > 0 for p in passes), passes' <"$T/bench.json"
	check_data /dev/vg/lv 7 0 32
	assert_eq "$(lvs -a --noheadings -o lv_name vg | tr -d ' ')" lv "volumes that are left"
	# A run that is killed leaves its volumes, and the next one removes them.
	lvcreate -qq -y -L 8M -n hearth_bench --addtag hearth_bench vg "$DISK"
	hearth bench vg/lv "$T/load.log" "$SSD" --size 0.03125 2>"$T/said"
	grep -q 'vg/hearth_bench is left from a run that was ended' "$T/said"
	assert_eq "$(lvs -a --noheadings -o lv_name vg | tr -d ' ')" lv "volumes that are left"
}
