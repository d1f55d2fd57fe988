/* snmp_rows */
