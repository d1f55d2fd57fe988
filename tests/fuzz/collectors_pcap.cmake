rw_fuzz(roce_parse rw_collectors)
rw_fuzz(pcap_file rw_collectors)
