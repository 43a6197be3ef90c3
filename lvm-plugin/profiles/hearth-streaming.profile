# SPDX-License-Identifier: GPL-2.0-only
# hearth: for large files that are read again and again from an origin that is slow
# at streams. Streams are judged like everything else.
# Not for a volume that the machine starts from: only hearth opens a volume
# with the policy heat. See hearth-profiles(7).
allocation {
	cache_mode = "writethrough"
	cache_policy = "heat"
	cache_metadata_format = 2
	cache_pool_chunk_size = 256
	cache_settings {
		heat {
			seq_cutoff = 0
		}
	}
}
