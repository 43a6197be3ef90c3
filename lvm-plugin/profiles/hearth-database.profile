# SPDX-License-Identifier: GPL-2.0-only
# hearth: for small random requests, many of them writes. In writeback the SSD must
# not be lost, so it should be a mirror.
# Any kernel opens a volume that was made with this profile. See hearth-profiles(7).
allocation {
	cache_mode = "writeback"
	cache_policy = "smq"
	cache_metadata_format = 2
	cache_pool_chunk_size = 64
}
