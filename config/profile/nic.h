/* nic - commands for the NIC of a host, as data (nic.def). Pure; any thread. */
#pragma once

struct nic_command {
	const char *prefix, *topic, *run, *shows;
};

/* nic_command - for a NIC whose RDMA device is @device ("mlx5_0"; NULL or "": not known). NULL
 * where no command of that topic is known. */
const struct nic_command *nic_command(const char *device, const char *topic);
