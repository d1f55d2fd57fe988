/* shape_mistakes - tables that must not compile: check_mistakes.sh compiles this file once for each
 * number of MISTAKE. With 0 all is right. */
#include "agent/document/shape.h"

enum colour { RED, GREEN, COLOURS };
static const char *const colour_words[] = {
	"red",
#if MISTAKE != 1
	"green",
#endif
};

struct other {
	double x;
};
#define SHAPE struct other
static const struct field other_fields[] = {NUMBER(x, UNIT_NONE, "X.")};
SHAPE_OF(other, "Other", "Another.");
#undef SHAPE

struct part {
	const char *name;
};
#define SHAPE struct part
static const struct field part_fields[] = {TEXT(name, "Name.")};
SHAPE_OF(part, "Part", "A part.");
#undef SHAPE

struct whole {
#if MISTAKE == 2
	char name[8];
#else
	const char *name;
#endif
#if MISTAKE == 3
	float load;
#else
	double load;
#endif
	enum colour colour;
#if MISTAKE == 4
	struct part parts[4];
#elif MISTAKE == 5
	struct other *parts;
#else
	struct part *parts;
#endif
#if MISTAKE == 6
	int n_parts;
#else
	size_t n_parts;
#endif
};
#define SHAPE struct whole
static const struct field whole_fields[] = {
#if MISTAKE == 7
	TEXT(nam, "Name."),
#elif MISTAKE == 8
	TEXT(name, UNIT_RATIO, "Name."),
#elif MISTAKE == 9
	TEXT(load, "Name."),
#else
	TEXT(name, "Name."),
#endif
#if MISTAKE == 10
	NUMBER(load, "Load."),
#elif MISTAKE == 11
	COUNT(load, "Load."),
#else
	NUMBER(load, UNIT_RATIO, "Load."),
#endif
	WORD(colour, colour, colour_words, COLOURS, "Colour."),
	ROWS(parts, part, "Parts."),
};
SHAPE_OF(whole, "Whole", "The whole.");
#if MISTAKE == 12
static const struct shown whole_shown[] = {COLUMN(nam, "name")};
#else
static const struct shown whole_shown[] = {COLUMN(name, "name")};
#endif
#undef SHAPE

int main(void)
{
	return whole_shown[0].at + (int)whole_shape.n_fields - 4;
}
