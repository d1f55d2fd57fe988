/* cmd_pcap */
