/* snmp_security - SNMPv3 protocols by name; apart from config.h so that the file that includes
 * net-snmp can have them. */
#pragma once

enum snmp_auth {
	SNMP_AUTH_NONE,
	SNMP_AUTH_MD5,
	SNMP_AUTH_SHA1,
	SNMP_AUTH_SHA224,
	SNMP_AUTH_SHA256,
	SNMP_AUTH_SHA384,
	SNMP_AUTH_SHA512
};
enum snmp_priv {
	SNMP_PRIV_NONE,
	SNMP_PRIV_DES,
	SNMP_PRIV_AES128,
	SNMP_PRIV_AES192,
	SNMP_PRIV_AES256
};
