#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The demo's story, told inside a guest with stock lvm2: a disk, an SSD, and
# what an administrator does with them from pvcreate to --uncache. Prints to
# the file given; the commands' own output goes to the log.
set -euo pipefail
exec 3>&- 4>&- 5>&- </dev/null
. "$HEARTH_TOP/tests/guest/guest/lib.sh"
PATH=$TOP/build/lvm-plugin:$PATH
out=$1

say() {
	printf '%s\n' "$*" | tee -a "$out"
}

step() {
	say ""
	say "* $*"
}

# Shows a command, runs it, and shows its last lines.
run() {
	say "    # $*"
	"$@" >"$T/run.out" 2>&1 || {
		cat "$T/run.out" >>"$out"
		say "    FAILED: $*"
		exit 1
	}
	cat "$T/run.out"
}

show() {
	run "$@"
	sed 's/^/    /' "$T/run.out" >>"$out"
}

now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

# The files, read in an order that no disk likes.
read_files() {
	local began
	echo 3 >/proc/sys/vm/drop_caches
	began=$(now_ms)
	find "$T/m" -type f -print0 | shuf -z --random-source="$TOP/README.md" 2>/dev/null |
		xargs -0 cat >/dev/null
	TOOK=$(($(now_ms) - began))
}

random_reads() {
	fio --name=r --filename="$1" --readonly --direct=1 --ioengine=libaio --iodepth=4 --thread \
		--rw=randread --bs=4k --size=16M --io_size=4M --output-format=terse --terse-version=3 |
		awk -F';' '{ printf "%d IOPS, %.2f ms", $8, $40 / 1000 }'
}

cache_line() {
	read_status vg-data
	say "    cached ${ST[used]} of ${ST[total]} blocks, ${ST[dirty]} dirty;" \
		"read hits ${ST[read_hits]}, misses ${ST[read_misses]};" \
		"write hits ${ST[write_hits]}, misses ${ST[write_misses]}"
}

copy_files() {
	mkdir -p "$T/m/src"
	find "$TOP" -path "$TOP/build" -prune -o -path "$TOP/.git" -prune -o -type f \
		! -name '*.o' ! -name '*.ko' ! -name '*.cmd' -print0 |
		xargs -0 cp -t "$T/m/src" --backup=numbered
	find /usr/include -name '*.h' | sort | awk 'NR <= 600' |
		xargs cp -t "$T/m/src" --backup=numbered
	cp /usr/sbin/lvm /usr/bin/bash /usr/bin/fio "$T/m/"
	sync
	(cd "$T/m" && find . -type f -print0 | xargs -0 sha256sum) >"$T/sums"
}

check_files() {
	echo 3 >/proc/sys/vm/drop_caches
	(cd "$T/m" && sha256sum --quiet -c "$T/sums") || {
		say "    FAILED: files differ"
		exit 1
	}
	say "    $(wc -l <"$T/sums") files, all checksums as they were"
}

hot() {
	awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", b ? a / b : 0 }'
}

mkdir -p "$T/m" && cd "$T"

module=$(modinfo -F filename dm-cache)
say "A guest with Debian's kernel $(uname -r) and lvm2 $(lvm version | awk '/LVM version/ { print $3 }')."
say "modprobe dm-cache loaded ${module##*/lib/modules/}: $(dmsetup targets | awk '$1 == "cache"' | xargs)."

step "A disk that takes 4 ms for a request, and an SSD that takes 0.1 ms"
device DISK 512 slow-disk
device SSD 128 slow-ssd
run pvcreate "$DISK" "$SSD"
run vgcreate vg "$DISK" "$SSD"
run lvcreate -y -L 256M -n data vg "$DISK"
run mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/vg/data
run mount /dev/vg/data "$T/m"
copy_files
say "    $(wc -l <"$T/sums") files copied in, $(du -sm "$T/m" | cut -f1) MiB"

step "Without a cache"
read_files
uncached=$TOOK
say "    reading the files: $uncached ms"
slow=$(random_reads /dev/vg/data)
say "    4 KiB random reads: $slow"

step "The SSD becomes a cache pool, the pool goes in front of the mounted volume"
run lvcreate -y -L 8M -n fast_meta vg "$SSD"
run lvcreate -y -L 80M -n fast vg "$SSD"
run lvconvert -y --type cache-pool --poolmetadata vg/fast_meta vg/fast
run lvconvert -y --type cache --cachepool vg/fast --cachemode writeback vg/data
show lvs -o lv_name,lv_size,pool_lv,cache_mode,cache_policy,cache_total_blocks,cache_used_blocks,cache_read_hits vg/data

step "Read until warm"
for round in 1 2 3 4 5 6 7 8; do
	read_files
	random_reads /dev/vg/data >/dev/null
	say "    round $round: the files in $TOOK ms"
	[ $((TOOK * 3)) -gt "$uncached" ] || [ "$round" -lt 2 ] || break
done
read_files
cached=$TOOK
fast=$(random_reads /dev/vg/data)
say "    4 KiB random reads: $fast"
show hearth status vg/data

step "Deactivated and activated again"
run umount "$T/m"
run lvchange -an vg/data
run lvchange -ay vg/data
run mount /dev/vg/data "$T/m"
read_files
warm=$TOOK
say "    reading the files: $warm ms, still warm"
cache_line

step "New data written through the cache, which is then split off and put back"
dd if=/dev/urandom of="$T/m/new" bs=1M count=16 conv=fsync status=none
(cd "$T/m" && sha256sum ./new) >>"$T/sums"
cache_line
run lvconvert -y --splitcache vg/data
check_files
run lvconvert -y --type cache --cachepool vg/fast vg/data
check_files

step "And taken away for good"
run lvconvert -y --uncache vg/data
check_files
run umount "$T/m"
run fsck.ext4 -fn /dev/vg/data
show lvs vg
run vgremove -ff vg
dmesg | grep -E "$BAD_NEWS" | tee -a "$out" && exit 1

say ""
say "                        without a cache      with the cache"
say "$(printf 'reading the files       %-20s %s' "$uncached ms" "$cached ms ($(hot "$uncached" "$cached") times as fast)")"
say "$(printf '... after reactivation  %-20s %s' "" "$warm ms")"
say "$(printf '4 KiB random reads      %-20s %s' "$slow" "$fast")"
say ""
say "demo: complete"
