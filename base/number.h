/*
 * number - numbers as all texts for people write them. The rules stand in docs/numbers.md, and
 * tests/docs/check_numbers.py holds all printed texts to them. Pure; any thread.
 */
#pragma once

#include <stdint.h>

/* A text that lives as long as the value: number_count(n).s in the arguments of a printf. */
struct number_text {
	char s[48];
};

/* number_count - a count of things: 1234567 as "1,234,567". */
struct number_text number_count(uint64_t n);
/* number_count_of - the same of a counter kept as a double; below 0 and not a number: "0". */
struct number_text number_count_of(double n);
/* number_usd - US dollars: "$23,040.00", "-$0.50"; not a number: "-". */
struct number_text number_usd(double usd);
/* number_three - three digits: "163", "16.3", "1.63"; a whole number is written as one. */
struct number_text number_three(double value);
/* number_scaled - three digits with a decimal prefix: "52.4k"; with @unit, which may be "", the
 * prefix is the unit's: "400 Gbit/s", and of bytes ("B", "B/s") "33.5 KB". */
struct number_text number_scaled(double value, const char *unit);
/* number_size - bytes as "88 B", "33.5 KB", "1.99 MB": 1 KB = 1000 B. */
struct number_text number_size(double bytes);
/* number_alpha - a dynamic threshold as "1/16", "1", "4"; "0.3" where it is no power of two. */
struct number_text number_alpha(double alpha);
