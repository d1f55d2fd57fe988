rw_unit(snmp_trap rw_collectors)
rw_unit(trap_receiver snmp_world)
