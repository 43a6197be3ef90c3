# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# lvm2's own commands make, convert, change and take apart cached volumes.

#@ fast timeout=90
test_lvcreate_cache_on_existing_lv() {
	standard_vg
	lvcreate -y -L 128M -n lv vg "$DISK"
	write_data /dev/vg/lv 1 0 16
	lvcreate -y --type cache -L 32M -n fast vg/lv "$SSD"
	assert_eq "$(field segtype)" cache type
	assert_eq "$(field cache_total_blocks)" 512 blocks
	check_data /dev/vg/lv 1 0 16
}

#@ slow timeout=90 on=pool,vol
test_lvcreate_cache_with() {
	local type=()
	standard_vg
	[ "$1" = vol ] || type=(--type cache-pool)
	lvcreate -y "${type[@]}" -L 32M -n fast vg "$SSD"
	lvcreate -y --type cache "--cache$1" vg/fast -L 128M -n lv vg "$DISK"
	assert_eq "$(field segtype)" cache type
	assert_eq "$(field cache_mode)" writethrough mode
	write_data /dev/vg/lv 1 0 64
	check_data /dev/vg/lv 1 0 64
}

#@ slow timeout=60
test_lvcreate_cache_pool_options() {
	standard_vg
	lvcreate -y --type cache-pool -L 32M -c 256k --poolmetadatasize 12M --cachemode writeback \
		--cachemetadataformat 1 -n fast vg "$SSD"
	lvcreate -y -L 64M -n lv vg "$DISK"
	lvconvert -y --type cache --cachepool vg/fast vg/lv
	assert_eq "$(field chunk_size)" 256.00 chunk
	assert_eq "$(field cache_mode)" writeback mode
	assert_eq "$(field cache_metadata_format)" 1 format
	assert_eq "$(field lv_size vg/lv_corig)" 65536.00 origin
	read_status vg-lv
	assert_eq "${ST[block]}" 512 block
	assert_eq "${ST[total]}" 128 blocks
	assert_eq "${ST[features]}" writeback features
	assert_eq "${ST[metadata_total]}" 3072 metadata
}

#@ fast timeout=90
test_lvconvert_cache_pool_from_two_lvs() {
	standard_vg
	lvcreate -y -L 128M -n lv vg "$DISK"
	lvcreate -y -L 8M -n meta vg "$SSD"
	lvcreate -y -L 32M -n fast vg "$SSD"
	lvconvert -y --type cache-pool --poolmetadata vg/meta vg/fast
	lvconvert -y --type cache --cachepool vg/fast vg/lv
	assert_eq "$(field cache_total_blocks)" 512 blocks
	assert_eq "$(stat_of vg-lv metadata_total)" 2048 metadata
	write_data /dev/vg/lv 1 0 64
	check_data /dev/vg/lv 1 0 64
}

#@ fast timeout=60
test_table_is_what_lvm_wrote() {
	local table
	standard_vg
	cached_lv pool writeback -c 64k
	table=$(dmsetup table vg-lv | sed -E 's/[0-9]+:[0-9]+/D/g')
	assert_eq "$table" "0 262144 cache D D D 128 2 metadata2 writeback smq 0" "64k"
	lvchange -y --cachesettings migration_threshold=4096 vg/lv
	table=$(dmsetup table vg-lv | sed -E 's/[0-9]+:[0-9]+/D/g')
	assert_eq "$table" "0 262144 cache D D D 128 2 metadata2 writeback smq 2 migration_threshold 4096" settings
	assert_match "$(stat_of vg-lv core)" 'migration_threshold 4096' core
}

# One round of a cache's life, with data in it. Each round takes half a minute; make test
# has those whose tables differ most.
#@ fast timeout=90 on=pool:writeback:format1,vol:writeback slow=pool:writethrough,pool:writeback,pool:passthrough,vol:writethrough,vol:passthrough,pool:writethrough:format1,pool:passthrough:format1
test_life() {
	standard_vg
	cached_lv "$@"
	assert_match "$(stat_of vg-lv features)" "(^| )$2( |\$)" mode
	assert_eq "$(field kernel_metadata_format)" "$([ "${3:-}" = format1 ] && echo 1 || echo 2)" format
	write_data /dev/vg/lv 1 0 48
	RW=randwrite write_data /dev/vg/lv 2 8 8 4k
	check_data /dev/vg/lv 1 0 8
	RW=randwrite check_data /dev/vg/lv 2 8 8 4k
	lvchange -an vg/lv
	lvchange -ay vg/lv
	check_data /dev/vg/lv 1 16 32
	RW=randwrite check_data /dev/vg/lv 2 8 8 4k
	lvconvert -y --uncache vg/lv
	assert_eq "$(field segtype)" linear type
	check_data /dev/vg/lv 1 0 8
	RW=randwrite check_data /dev/vg/lv 2 8 8 4k
	check_data /dev/vg/lv 1 16 32
	lvremove -y vg/lv
}

#@ fast timeout=120 on=pool:writeback slow=vol:writeback,pool:writethrough,pool:passthrough,pool:writeback:format1,vol:writethrough,vol:passthrough
test_splitcache_and_attach_again() {
	standard_vg
	cached_lv "$@"
	write_data /dev/vg/lv 1 0 24
	lvconvert -y --splitcache vg/lv
	assert_eq "$(field segtype)" linear type
	assert_eq "$(field segtype vg/fast)" "$([ "$1" = pool ] && echo cache-pool || echo linear)" "cache's type"
	check_data /dev/vg/lv 1 0 24
	write_data /dev/vg/lv 2 0 12
	lvconvert -y --type cache "--cache$1" vg/fast vg/lv
	check_data /dev/vg/lv 2 0 12
	check_data /dev/vg/lv 1 12 12
}

#@ fast timeout=90 on=pool slow=vol
test_uncache_flushes_dirty_blocks() {
	standard_vg
	cached_lv "$1" writeback
	stays_dirty vg-lv
	write_data /dev/vg/lv 1 0 24
	assert_ge "$(stat_of vg-lv dirty)" 64 "dirty blocks"
	lvconvert -y --uncache vg/lv
	assert_eq "$(lvs --noheadings vg | wc -l)" 1 volumes
	check_data /dev/vg/lv 1 0 24
}

#@ slow timeout=90 on=pool,vol
test_uncache_inactive() {
	standard_vg
	cached_lv "$1" writeback
	write_data /dev/vg/lv 1 0 24
	lvchange -an vg/lv
	lvconvert -y --uncache vg/lv
	lvchange -ay vg/lv
	assert_eq "$(field segtype)" linear type
	check_data /dev/vg/lv 1 0 24
}

# repaired FORMAT [LVCONVERT OPTION...]
repaired() {
	standard_vg
	cached_lv pool writeback --cachemetadataformat "$1"
	stays_dirty vg-lv
	write_data /dev/vg/lv 1 0 24
	assert_ge "$(stat_of vg-lv dirty)" 64 "dirty blocks"
	lvchange -an vg/lv
	lvconvert -y --repair "${@:2}" vg/lv
	lvs -a
	lvchange -ay vg/lv
	check_data /dev/vg/lv 1 0 24
	remove_old_metadata
	lvconvert -y --uncache vg/lv
	check_data /dev/vg/lv 1 0 24
}

#@ slow timeout=120
test_lvconvert_repair() {
	repaired 1
}

# thin-provisioning-tools 0.9.0 of Debian 12 lose the dirty bits of format 2, and their
# cache_dump shows none either. The next release keeps them.
#@ slow timeout=120
test_lvconvert_repair_format_2() {
	local tool=$TOP/build/trixie/bin/cache_repair
	[ -x "$tool" ] || skip "no cache_repair of the next release"
	repaired 2 --config "global/cache_repair_executable=\"$tool\""
}

# hearth's program repairs sound metadata; lvm2 calls it as it calls cache_repair.
#@ fast timeout=120 on=2 slow=1
test_lvconvert_repair_by_hearth() {
	repaired "$1" --config "$(hearth_repairs)"
}

# lvm2 cannot repair a cachevol; the attempt must lose nothing.
#@ slow timeout=90
test_lvconvert_repair_of_cachevol_is_refused() {
	standard_vg
	cached_lv vol writeback
	write_data /dev/vg/lv 1 0 24
	lvchange -an vg/lv
	must_fail lvconvert -y --repair vg/lv
	lvchange -ay vg/lv
	check_data /dev/vg/lv 1 0 24
}

# --- a pool on two SSDs ---------------------------------------------------------------

# breakable_pvs NAME...: makes SSDs of 64 MiB that a test can break. lvm2 sees nothing below
# them.
breakable_pvs() {
	local name real
	for name; do
		real=FAR_$name
		device "$real" 64 ssd
		dmsetup create "pv_$name" --table "0 $(sectors "${!real}") linear ${!real} 0"
	done
}

# mirrored_pool: makes vg/lv on a disk, cached in writeback by a pool whose data and
# metadata are on the SSDs one and two. The commands are those of docs/administration.md.
mirrored_pool() {
	modprobe dm-raid
	device DISK 128 disk
	breakable_pvs one two
	vgcreate -y vg "$DISK" /dev/mapper/pv_one /dev/mapper/pv_two
	lvcreate -y -L 64M -n lv vg "$DISK"
	lvcreate -y --type raid1 -m 1 -L 32M -n fast vg /dev/mapper/pv_one /dev/mapper/pv_two
	lvcreate -y --type raid1 -m 1 -L 8M -n fastmeta vg /dev/mapper/pv_one /dev/mapper/pv_two
	lvconvert -y --type cache-pool --poolmetadata vg/fastmeta vg/fast
	lvconvert -y --type cache --cachepool vg/fast --cachemode writeback vg/lv
	until_true 60 both_in_sync || fail "the legs are not equal"
}

# The volumes of the pool, as lvm2 calls them while the pool is in use
POOL_PARTS="fast_cpool_cdata fast_cpool_cmeta"

both_in_sync() {
	local part
	for part in $POOL_PARTS; do
		[ "$(legs_of "$part")" = AA ] && [ "$(field sync_percent "vg/$part")" = 100.00 ] || return 1
	done
}

# legs_of PART: prints A for each leg that is well, a for one that is behind, D for a dead one.
legs_of() {
	dmsetup status --noflush "vg-$1" | awk '{ print $6 }'
}

# Writes 4 MiB at 8 MiB again and again, each time with the next seed, until $T/stop is there.
# $T/seed has the last seed.
writes_again_and_again() {
	local seed
	for ((seed = 2; ; seed++)); do
		write_data /dev/vg/lv $seed 8 4 4k || return 1
		echo $seed >"$T/seed"
		[ ! -e "$T/stop" ] || return 0
	done
}

seed_is() {
	[ -e "$T/seed" ] && [ "$(cat "$T/seed")" -ge "$1" ]
}

legs_are() {
	local part
	for part in $POOL_PARTS; do
		[ "$(legs_of "$part")" = "$1" ] || return 1
	done
}

# An SSD dies under a writer. The user sees no error, write-back goes on, and a third SSD
# takes its place. Then the second one dies, so that the third has the only copy of what is
# dirty.
#@ slow hearth-only timeout=300
test_a_leg_of_a_mirrored_pool_dies() {
	mirrored_pool
	stays_dirty vg-lv
	every_write_comes_in vg-lv
	write_data /dev/vg/lv 1 0 16
	assert_ge "$(stat_of vg-lv dirty)" 128 "dirty blocks"
	writes_again_and_again &
	LOAD=$!
	until_true 60 seed_is 2 || fail "no writes"
	dies pv_one
	# Two more, so that one has begun after the death.
	until_true 60 seed_is $(($(cat "$T/seed") + 2)) || fail "the writer is stuck, or saw an error"
	touch "$T/stop"
	wait "$LOAD" || fail "a write failed"
	# Blocks that come into the cache have the metadata written.
	write_data /dev/vg/lv 1 16 4
	until_true 20 legs_are DA || fail "not both parts of the pool have noticed the dead SSD"
	assert_eq "$(stat_of vg-lv rw)" rw "the metadata"
	has_what_was_written /dev/vg/lv
	assert_ge "$(stat_of vg-lv dirty)" 160 "dirty blocks after the death"
	goes_home
	has_what_was_written /dev/mapper/vg-lv_corig
	stays_dirty vg-lv
	write_data /dev/vg/lv 1000 4 4
	write_data /dev/vg/lv 1 0 4
	assert_ge "$(stat_of vg-lv dirty)" 128 "dirty blocks before the repair"
	new_leg
	assert_ge "$(stat_of vg-lv dirty)" 128 "dirty blocks after the repair"
	dies pv_two
	check_data /dev/vg/lv 1000 4 4
	check_data /dev/vg/lv 1 0 4
	check_data /dev/vg/lv 1 12 8
	write_data /dev/vg/lv 1001 20 4
	check_data /dev/vg/lv 1001 20 4
	goes_home
	check_data /dev/mapper/vg-lv_corig 1000 4 4
	check_data /dev/mapper/vg-lv_corig 1001 20 4
}

has_what_was_written() {
	check_data "$1" 1 0 8
	check_data "$1" "$(cat "$T/seed")" 8 4 4k
	check_data "$1" 1 12 8
}

goes_home() {
	message vg-lv writeback_idle 1
	until_true 60 all_clean vg-lv || fail "write-back has stopped"
}

# The commands are those of docs/administration.md.
new_leg() {
	local part
	breakable_pvs three
	vgextend -y vg /dev/mapper/pv_three
	for part in $POOL_PARTS; do
		lvconvert -y --repair "vg/$part" /dev/mapper/pv_three
	done
	vgreduce --removemissing vg
	until_true 60 both_in_sync || fail "the new legs are not equal"
	lvs -a -o+devices vg
	[ -z "$(lvs -a --noheadings -S 'lv_health_status=partial' vg)" ] || fail "a leg is missing"
}

#@ fast timeout=120 on=pool slow=vol
test_lvchange_cachemode() {
	local mode
	standard_vg
	cached_lv "$1" writethrough
	write_data /dev/vg/lv 1 0 24
	for mode in writeback passthrough writeback writethrough passthrough writethrough; do
		lvchange -y --cachemode $mode vg/lv
		assert_eq "$(field cache_mode)" $mode "lvm's mode"
		assert_match "$(stat_of vg-lv features)" "(^| )$mode( |\$)" "kernel's mode"
		check_data /dev/vg/lv 1 4 20
		write_data /dev/vg/lv 2 0 4
		check_data /dev/vg/lv 2 0 4
	done
	check_data /dev/vg/lv 1 4 20
}

# lvm2 2.03.16 sends "mq" for every cachevol, whatever policy it stores.
policy_changes() {
	local kind=$1 policy
	standard_vg
	cached_lv "$kind" writethrough
	write_data /dev/vg/lv 1 0 24
	for policy in "${@:2}"; do
		lvchange -y --cachepolicy "$policy" vg/lv
		assert_eq "$(field cache_policy)" "$policy" "lvm's policy"
		[ "$kind" = pool ] || policy=mq
		assert_eq "$(field kernel_cache_policy)" "$policy" "kernel's policy"
		write_data /dev/vg/lv 2 0 8
		check_data /dev/vg/lv 2 0 8
		check_data /dev/vg/lv 1 8 16
	done
	lvchange -an vg/lv
	lvchange -ay vg/lv
	assert_eq "$(field kernel_cache_policy)" "$policy" "after activation"
	check_data /dev/vg/lv 1 8 16
}

#@ fast timeout=120 on=pool slow=vol
test_lvchange_cachepolicy() {
	policy_changes "$1" cleaner mq smq
}

#@ hearth-only slow timeout=120 on=pool,vol
test_lvchange_cachepolicy_own() {
	policy_changes "$1" smq lru cleaner lru
}

#@ fast timeout=90
test_unknown_policy_is_refused() {
	standard_vg
	cached_lv pool writethrough
	write_data /dev/vg/lv 1 0 8
	refused 'Unknown cache policy' lvchange -y --cachepolicy nonesuch vg/lv
	assert_eq "$(field cache_policy)" smq "lvm's policy"
	assert_eq "$(stat_of vg-lv policy)" smq "kernel's policy"
	check_data /dev/vg/lv 1 0 8
}

#@ fast timeout=90 on=pool slow=vol
test_lvchange_cachesettings() {
	standard_vg
	cached_lv "$1" writethrough
	lvchange -y --cachesettings migration_threshold=16384 vg/lv
	assert_eq "$(field cache_settings)" migration_threshold=16384 "lvm's"
	assert_match "$(field kernel_cache_settings)" migration_threshold=16384 "kernel's"
	lvchange -an vg/lv
	lvchange -ay vg/lv
	assert_match "$(field kernel_cache_settings)" migration_threshold=16384 "after activation"
	lvchange -y --cachesettings migration_threshold=default vg/lv
	assert_match "$(field kernel_cache_settings)" migration_threshold=2048 default
}

#@ slow timeout=120 on=pool,vol
test_mq_accepts_its_old_settings() {
	standard_vg
	cached_lv "$1" writethrough
	lvchange -y --cachepolicy mq --cachesettings 'sequential_threshold=1024 random_threshold=8' vg/lv
	assert_eq "$(stat_of vg-lv policy)" mq policy
	assert_match ",$(field kernel_cache_settings)," ",random_threshold=0,sequential_threshold=0,discard_promote_adjustment=0,read_promote_adjustment=0,write_promote_adjustment=0," \
		"what lvs says of them"
	write_data /dev/vg/lv 1 0 8
	check_data /dev/vg/lv 1 0 8
}

# The metadata keeps the counters, so the test compares differences.
#@ fast timeout=120 on=pool slow=vol
test_still_warm_after_reactivation() {
	local used hits misses
	standard_vg
	cached_lv "$1" writeback
	is_stock || no_promotion_limits vg-lv
	write_data /dev/vg/lv 1 0 24
	udevadm settle
	read_status vg-lv
	used=${ST[used]} hits=${ST[read_hits]} misses=${ST[read_misses]}
	assert_ge "$used" 256 used
	lvchange -an vg/lv
	lvchange -ay vg/lv
	# Misses may have the reserve grow to 24 of these 384 slots, and eviction goes on until
	# half as many more and one are free.
	assert_ge "$(stat_of vg-lv used)" $((used < 384 - 37 ? used : 384 - 37)) "used after activation"
	# In writeonly the check's reads promote nothing, so they cannot displace blocks
	# that the check reads later.
	is_stock || message vg-lv mode writeonly
	check_data /dev/vg/lv 1 0 24
	read_status vg-lv
	assert_ge $((ST[read_hits] - hits)) $((used - 40)) "read hits"
	assert_le $((ST[read_misses] - misses)) $((384 + 40 - used + 40)) "read misses"
}

#@ slow timeout=120
test_warm_by_reading_and_still_warm() {
	local hits
	standard_vg
	LV_MIB=64 cached_lv pool writethrough
	write_data /dev/vg/lv 1 0 16
	warm vg-lv 4
	hits=$(stat_of vg-lv read_hits)
	lvchange -an vg/lv
	lvchange -ay vg/lv
	assert_ge "$(stat_of vg-lv used)" 48 "used after activation"
	check_data /dev/vg/lv 1 0 16
	assert_ge $(($(stat_of vg-lv read_hits) - hits)) 40 "read hits"
}
