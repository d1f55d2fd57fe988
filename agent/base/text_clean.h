/*
 * text_clean - text from outside (names of devices, ports and hosts, aliases, messages, SKUs), made
 * fit for a terminal, a database and a spreadsheet. Pure.
 */
#ifndef RW_BASE_TEXT_CLEAN_H
#define RW_BASE_TEXT_CLEAN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * text_clean - @n bytes at @data as one line of valid UTF-8 in @buf, cut to @size - 1 bytes.
 *
 * Control characters (C0, DEL, C1) become a blank: they end lines and steer terminals. Characters
 * that turn or hide text (bidirectional overrides and isolates, zero-width ones, byte order marks)
 * and bytes that are no UTF-8 (RFC 3629) become '?'. @buf may be @data. Returns the length.
 */
size_t text_clean(char *buf, size_t size, const void *data, size_t n);

/* text_is_clean - would text_clean() leave @text as it is? */
bool text_is_clean(const char *text);

/*
 * text_is_formula - would a spreadsheet run this csv field instead of showing it? It begins with
 * one of = + - @ or a tab, and is no number. (OWASP, "CSV Injection".) Such a field is printed
 * after a single quote, which spreadsheets take for "text follows".
 */
bool text_is_formula(const char *text);

#endif
