/*
 * pcap_paths - the arguments of "rocewatch pcap" as a list of files: of a directory the capture
 * files in it, by name.
 *
 * Names of capture files: what ends in .pcap, .pcapng or .cap, also with the number of a rotation
 * behind it, as tcpdump -C (.pcap1) and logrotate (.pcap.1) write it; dumpcap's numbers stand
 * before the dot. Directories in directories are not looked into.
 */
#pragma once

#include "base/base.h"

struct pcap_paths { /* zeroed to start */
	char **v; /* owned, and each of them */
	size_t n, cap;
	/* owned: names in directories that are no captures by their name */
	char **left_out;
	size_t n_left_out, cap_left_out;
};
void pcap_paths_done(struct pcap_paths *paths);

/* pcap_paths_add - a file or "-" as it is (it may not exist), a directory as its files in the order
 * of names with numbers. -ENOENT with @e: a directory without captures; or why it cannot be read.
 */
int pcap_paths_add(struct pcap_paths *paths, const char *path, struct err *e);

/* pcap_paths_is_capture - by its name. */
bool pcap_paths_is_capture(const char *name);
