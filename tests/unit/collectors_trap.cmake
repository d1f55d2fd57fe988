rw_unit(snmp_trap rw_collectors)
