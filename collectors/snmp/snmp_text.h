/* snmp_text - pure: what agents call text, made fit for a terminal and a database. */
#ifndef RW_COLLECTORS_SNMP_TEXT_H
#define RW_COLLECTORS_SNMP_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* snmp_text_clean - @n bytes as one line of valid UTF-8: control characters become blanks, foreign
 * bytes '?', ends are trimmed. */
char *snmp_text_clean(char *buf, size_t size, const uint8_t *data, size_t n);

#endif
