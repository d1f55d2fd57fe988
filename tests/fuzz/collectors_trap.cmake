rw_fuzz(snmp_trap rw_collectors)
