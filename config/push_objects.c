/* push_objects - reads "TYPE IDS=NAMES". */
#include "config/push_objects.h"

#include <strings.h>

/* Object types of SAI, with their numbers there (sai_object_type_t in inc/saitypes.h). */
static const struct {
	const char *word;
	uint32_t number;
} object_types[] = {
	{"PORT", 1},
	{"QUEUE", 21},
	{"BUFFER_POOL", 24},
	{"INGRESS_PRIORITY_GROUP", 26},
};

struct push_objects {
	struct arena *a;
	struct map *names; /* type << 16 | object -> name */
};

struct ids { /* the numbers, one after the other */
	const char *at; /* "4,7-9="; the '=' ends them */
	bool counted; /* there are none: 1, 2, 3 */
	uint32_t next, last; /* of a range */
};

struct push_objects *push_objects_new(void)
{
	struct push_objects *objects = rw_calloc(1, sizeof(*objects));
	objects->a = arena_new();
	objects->names = map_new();
	return objects;
}

void push_objects_free(struct push_objects *objects)
{
	if (!objects)
		return;
	map_free(objects->names);
	arena_free(objects->a);
	free(objects);
}

/* 0: no number from 1 to PUSH_OBJECT_MAX. */
static uint32_t ids_number(struct ids *ids)
{
	uint32_t value = 0;
	while (*ids->at >= '0' && *ids->at <= '9' && value <= PUSH_OBJECT_MAX)
		value = value * 10 + (uint32_t)(*ids->at++ - '0');
	if (value > PUSH_OBJECT_MAX)
		return 0;
	return value;
}

/* 0: there is none, or it cannot be. */
static uint32_t ids_next(struct ids *ids)
{
	if (ids->next < ids->last || (ids->counted && ids->next < PUSH_OBJECT_MAX))
		return ++ids->next;
	if (ids->counted || *ids->at == '=')
		return 0;
	ids->next = ids->last = ids_number(ids);
	if (ids->next > 0 && *ids->at == '-') {
		ids->at++;
		ids->last = ids_number(ids);
	}
	if (ids->last < ids->next || (*ids->at != ',' && *ids->at != '='))
		return 0;
	ids->at += *ids->at == ',';
	return ids->next;
}

static bool ids_ended(const struct ids *ids)
{
	return ids->counted || (ids->next >= ids->last && *ids->at == '=');
}

static void objects_put(
	struct push_objects *objects, uint32_t type, uint32_t object, const char *name, size_t n)
{
	if (!objects)
		return;
	char *copy = arena_alloc(objects->a, n + 1);
	memcpy(copy, name, n);
	copy[n] = '\0';
	map_put(objects->names, (uint64_t)type << 16 | object, (uint64_t)(uintptr_t)copy);
}

static int objects_wrong(struct err *e, const char *text, const char *what)
{
	return err_set(e, -EINVAL,
		"'%.64s': %s; expected \"TYPE IDS=NAMES\" such as \"PORT 1,2=Ethernet0,Ethernet4\" "
		"with TYPE one of PORT, QUEUE, BUFFER_POOL, INGRESS_PRIORITY_GROUP",
		text, what);
}

static uint32_t objects_type(const char *text, size_t n)
{
	for (size_t i = 0; i < rw_countof(object_types); i++)
		if (strlen(object_types[i].word) == n &&
			strncasecmp(object_types[i].word, text, n) == 0)
			return object_types[i].number;
	return 0;
}

int push_objects_add(struct push_objects *objects, const char *text, struct err *e)
{
	const size_t n_word = strcspn(text, " ");
	const char *equals = strchr(text, '=');
	const uint32_t type = objects_type(text, n_word);
	if (strchr(text, ';'))
		return objects_wrong(e, text, "a name with a semicolon");
	if (strlen(text) > PUSH_OBJECTS_TEXT)
		return objects_wrong(e, text, "too long, use two");
	if (type == 0)
		return objects_wrong(e, text, "no such type of object");
	if (!equals || equals < text + n_word || !equals[1])
		return objects_wrong(e, text, "names are missing");
	struct ids ids = {.at = text + n_word + strspn(text + n_word, " ")};
	ids.counted = *ids.at == '=';
	for (const char *name = equals + 1; *name;) {
		const size_t n = strcspn(name, ",");
		const uint32_t object = ids_next(&ids);
		if (object == 0 || n == 0)
			return objects_wrong(e, text, "not one number for each name");
		objects_put(objects, type, object, name, n);
		name += n;
		if (*name == ',' && name[1])
			name++;
		else if (*name == ',')
			return objects_wrong(e, text, "a name is empty");
	}
	if (!ids_ended(&ids))
		return objects_wrong(e, text, "more numbers than names");
	return 0;
}

const char *push_objects_name(const struct push_objects *objects, uint32_t type, uint32_t object)
{
	uint64_t name;
	if (!objects || object > PUSH_OBJECT_MAX || type > UINT16_MAX)
		return NULL;
	if (!map_get(objects->names, (uint64_t)type << 16 | object, &name))
		return NULL;
	return (const char *)(uintptr_t)name;
}
