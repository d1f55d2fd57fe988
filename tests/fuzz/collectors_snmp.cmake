rw_fuzz(snmp_rows rw_collectors)
rw_fuzz(profile rw_config)
