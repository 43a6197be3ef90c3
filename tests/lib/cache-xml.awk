# SPDX-License-Identifier: GPL-2.0-only
#
# Prints the metadata of a cache, for cache_restore: awk -f cache-xml.awk -v block=SECTORS
# -v slots=NR [-v hints=1]. Each line of the input maps a slot: "SLOT ORIGIN_BLOCK", and
# "dirty" after it if the block is dirty; or "ORIGIN_BLOCK" alone, in the next slot, which is
# clean. Hints are printed for the first slots, as many as there are lines.

BEGIN {
	printf "<superblock uuid=\"\" block_size=\"%d\" nr_cache_blocks=\"%d\" ", block, slots
	print "policy=\"smq\" hint_width=\"4\">\n<mappings>"
}

{
	slot = NF == 1 ? NR - 1 : $1
	origin = NF == 1 ? $1 : $2
	printf "<mapping cache_block=\"%d\" origin_block=\"%d\" dirty=\"%s\"/>\n", \
		slot, origin, $3 == "dirty" ? "true" : "false"
}

END {
	print "</mappings>"
	if (hints) {
		print "<hints>"
		for (i = 0; i < NR; i++)
			printf "<hint cache_block=\"%d\" data=\"AAAAAA==\"/>\n", i
		print "</hints>"
	}
	print "</superblock>"
}
