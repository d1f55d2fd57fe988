rw_unit(doctor rw_agent snmp_world)
