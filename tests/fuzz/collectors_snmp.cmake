rw_fuzz(snmp_rows rw_collectors)
rw_fuzz(profile rw_config)
rw_fuzz(snmp_engine rw_collectors)
rw_fuzz(snmp_lldp rw_collectors)
