add_library(snmp_world STATIC snmp_world.c)
target_link_libraries(snmp_world PUBLIC rw_collectors PkgConfig::CMOCKA)
rw_unit(snmp snmp_world)
