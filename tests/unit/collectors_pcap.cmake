rw_unit(icrc rw_collectors)
rw_unit(roce_parse rw_collectors)
rw_unit(flow_table rw_collectors)
rw_unit(pcap rw_collectors)
