# SPDX-License-Identifier: GPL-2.0-only
# hearth: small random requests, many of them writes. Writeback: the SSD must
# not be lost, so let it be a mirror.
# Any kernel opens a volume that was made with it. See hearth-profiles(7).
allocation {
	cache_mode = "writeback"
	cache_policy = "smq"
	cache_metadata_format = 2
	cache_pool_chunk_size = 64
}
