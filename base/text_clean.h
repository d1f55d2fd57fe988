/*
 * text_clean - text from outside (names of devices, ports and hosts, aliases, messages, SKUs), made
 * fit for a terminal, a database and a spreadsheet. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * text_clean - @n bytes at @data as one line of valid UTF-8 in @buf, cut to @size - 1 bytes.
 *
 * Control characters (C0, DEL, C1) become a blank: they end lines and steer terminals. Characters
 * that turn or hide text (bidirectional overrides and isolates, zero-width ones, byte order marks)
 * and bytes that are no UTF-8 (RFC 3629) become '?'. @buf may be @data. Returns the length.
 */
size_t text_clean(char *buf, size_t size, const void *data, size_t n);

/* text_whole - makes @text, which snprintf() may have cut anywhere, valid UTF-8: what is left of a
 * cut character goes at the end of the text, and becomes '?' inside it. All else stays. */
void text_whole(char *text);

/* text_clean_copy - @text cleaned, in memory of its own. The caller frees. */
char *text_clean_copy(const char *text);

/* text_hide - stars in the place of @secret, wherever @text repeats it: a server may send back what
 * it was sent. NULL and words of less than three bytes: nothing. */
void text_hide(char *text, const char *secret);

/* text_next - the character that begins the @n > 0 bytes at @data: its code point in @ret_code
 * (U+FFFD for a byte that begins none), and how many bytes it has. */
size_t text_next(const char *data, size_t n, uint32_t *ret_code);
/* text_is_shown - neither a control character nor one that hides or reorders text. */
bool text_is_shown(uint32_t code);

/* text_is_clean - would text_clean() leave @text as it is? */
bool text_is_clean(const char *text);

/* text_is_word - letters, digits and . _ : / - only, and no '-' in front: may stand in a command
 * for a switch or a shell without being anything but a name. */
bool text_is_word(const char *text);

/*
 * text_is_formula - would a spreadsheet run this csv field instead of showing it? It begins with
 * one of = + - @ (also in full width), a tab or a carriage return, blanks in front aside, and is no
 * number. (OWASP, "CSV Injection".) Such a field is printed
 * after a single quote, which spreadsheets take for "text follows".
 */
bool text_is_formula(const char *text);
