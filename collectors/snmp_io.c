/* snmp_io */
