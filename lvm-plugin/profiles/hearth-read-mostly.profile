# SPDX-License-Identifier: GPL-2.0-only
# hearth: for many reads. Writes go to both devices, and hardly ever bring a block
# into the cache.
# Not for a volume that the machine starts from: only hearth opens a volume
# with the policy heat. See hearth-profiles(7).
allocation {
	cache_mode = "writethrough"
	cache_policy = "heat"
	cache_metadata_format = 2
	cache_pool_chunk_size = 64
	cache_settings {
		heat {
			read_level = 1
			write_level = 5
			full_write_level = 5
		}
	}
}
