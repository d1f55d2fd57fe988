/*
 * quantity - numbers as people write them. Pure; any thread.
 */
#ifndef RW_DOCUMENT_QUANTITY_H
#define RW_DOCUMENT_QUANTITY_H

struct str;

/* str_add_exact - the shortest of 15 to 17 digits that reads back as the same number. */
void str_add_exact(struct str *out, double value);

/* str_add_scaled - three digits with a decimal prefix, then @suffix: 1.99M + "B". */
void str_add_scaled(struct str *out, double value, const char *suffix);

/*
 * str_add_quantity - @value with its unit, one of those in db/model/metric.def: "32.4 %" for a
 * ratio, "9.7 s" for ns, "1.99MB", "400Gbit/s", "52.4k frames/s". Whole counts keep all digits.
 * NULL: a stored record that somebody else wrote has none.
 */
void str_add_quantity(struct str *out, double value, const char *unit);

#endif
