# SPDX-License-Identifier: GPL-2.0-only
# hearth: fewer bytes written to the SSD, at the price of hits.
# Not for a volume that the machine starts from: only hearth opens a volume
# with the policy heat. See hearth-profiles(7).
allocation {
	cache_mode = "writethrough"
	cache_policy = "heat"
	cache_metadata_format = 2
	cache_pool_chunk_size = 64
	cache_settings {
		heat {
			read_level = 3
			write_level = 3
			full_write_level = 3
			seq_again = 0
			max_promote_share = 25
			promote_ahead = 0
		}
	}
}
