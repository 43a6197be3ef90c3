# SPDX-License-Identifier: GPL-2.0-only
# hearth: for most volumes. In writethrough the SSD may be lost at any time.
# Any kernel opens a volume that was made with this profile. See hearth-profiles(7).
allocation {
	cache_mode = "writethrough"
	cache_policy = "smq"
	cache_metadata_format = 2
	cache_pool_chunk_size = 64
}
