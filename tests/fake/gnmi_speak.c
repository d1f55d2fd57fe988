/* gnmi_speak - see the header. */
#include "tests/fake/gnmi_speak.h"

#include <gnmi.pb-c.h>
#include <stdlib.h>
#include <string.h>
#include "proto/gnmi_path.h"

const char *const speak_kind_names[SPEAK_KINDS] = {
	"string", "int", "uint", "bool", "double", "json", "json_ietf", "ascii"};

static ProtobufCBinaryData bytes_of_text(const char *s)
{
	return (ProtobufCBinaryData){strlen(s), (uint8_t *)s};
}

/* ---- requests ------------------------------------------------------------ */

static bool path_add(struct gnmi_path *to, const Gnmi__Path *p)
{
	for (size_t i = 0; p && i < p->n_elem; i++) {
		struct gnmi_key keys[GNMI_PATH_KEYS_MAX];
		const Gnmi__PathElem *e = p->elem[i];
		for (size_t k = 0; k < e->n_key && k < GNMI_PATH_KEYS_MAX; k++)
			keys[k] = (struct gnmi_key){e->key[k]->key, e->key[k]->value,
				strlen(e->key[k]->key), strlen(e->key[k]->value)};
		if (!gnmi_path_add(to, e->name, strlen(e->name), keys, e->n_key, true))
			return false;
	}
	return true;
}

static const char *path_text(struct arena *a, const Gnmi__Path *prefix, const Gnmi__Path *path)
{
	struct gnmi_path p;
	gnmi_path_init(&p);
	return path_add(&p, prefix) && path_add(&p, path) ? arena_strdup(a, gnmi_path_text(&p))
							  : NULL;
}

static const char *origin_of(struct arena *a, const Gnmi__Path *prefix, const Gnmi__Path *path)
{
	const char *o = prefix && prefix->origin && *prefix->origin ? prefix->origin
		: path && path->origin                              ? path->origin
								    : "";
	return arena_strdup(a, o);
}

bool speak_read_subscribe(const void *p, size_t n, struct arena *a, struct speak_request *ret)
{
	Gnmi__SubscribeRequest *m = gnmi__subscribe_request__unpack(NULL, n, p);
	bool ok = m && m->request_case != GNMI__SUBSCRIBE_REQUEST__REQUEST__NOT_SET;
	*ret = (struct speak_request){.target = "", .origin = ""};
	if (ok && m->request_case == GNMI__SUBSCRIBE_REQUEST__REQUEST_POLL) {
		ret->poll = true;
	} else if (ok) {
		const Gnmi__SubscriptionList *l = m->subscribe;
		ret->mode = (int)l->mode;
		ret->encoding = (int)l->encoding;
		ret->target =
			arena_strdup(a, l->prefix && l->prefix->target ? l->prefix->target : "");
		ret->origin = origin_of(
			a, l->prefix, l->n_subscription ? l->subscription[0]->path : NULL);
		ret->updates_only = l->updates_only;
		ret->has_qos = l->qos != NULL;
		ret->aggregation = l->allow_aggregation;
		ret->models = l->n_use_models > 0;
		ret->v = arena_array(a, struct speak_subscription, l->n_subscription + 1);
		for (size_t i = 0; i < l->n_subscription && ok; i++) {
			const Gnmi__Subscription *s = l->subscription[i];
			const char *path = path_text(a, l->prefix, s->path);
			ok = path != NULL;
			ret->v[ret->n++] =
				(struct speak_subscription){path, (int)s->mode, s->sample_interval};
		}
	}
	if (m)
		gnmi__subscribe_request__free_unpacked(m, NULL);
	return ok;
}

bool speak_read_get(const void *p, size_t n, struct arena *a, struct speak_request *ret)
{
	Gnmi__GetRequest *m = gnmi__get_request__unpack(NULL, n, p);
	if (!m)
		return false;
	*ret = (struct speak_request){.encoding = (int)m->encoding};
	ret->target = arena_strdup(a, m->prefix && m->prefix->target ? m->prefix->target : "");
	ret->origin = origin_of(a, m->prefix, m->n_path ? m->path[0] : NULL);
	ret->v = arena_array(a, struct speak_subscription, m->n_path + 1);
	for (size_t i = 0; i < m->n_path; i++)
		ret->v[ret->n++] =
			(struct speak_subscription){.path = path_text(a, m->prefix, m->path[i])};
	gnmi__get_request__free_unpacked(m, NULL);
	return true;
}

/* ---- responses ----------------------------------------------------------- */

static Gnmi__Path *path_of(struct arena *a, const char *text)
{
	struct gnmi_elem *elems;
	size_t n;
	Gnmi__Path *p = arena_new_of(a, Gnmi__Path);
	gnmi__path__init(p);
	if (gnmi_path_parse(text, strlen(text), a, &elems, &n, NULL) < 0)
		abort(); /* a test's own mistake */
	p->elem = arena_array(a, Gnmi__PathElem *, n + 1);
	for (size_t i = 0; i < n; i++) {
		Gnmi__PathElem *e = arena_new_of(a, Gnmi__PathElem);
		gnmi__path_elem__init(e);
		e->name = arena_strndup(a, elems[i].name, elems[i].name_n);
		if (strcmp(e->name, "+") == 0)
			e->name = "";
		e->key = arena_array(a, Gnmi__PathElem__KeyEntry *, elems[i].n_keys + 1);
		for (size_t k = 0; k < elems[i].n_keys; k++) {
			Gnmi__PathElem__KeyEntry *key = arena_new_of(a, Gnmi__PathElem__KeyEntry);
			gnmi__path_elem__key_entry__init(key);
			key->key = arena_strndup(a, elems[i].keys[k].name, elems[i].keys[k].name_n);
			key->value =
				arena_strndup(a, elems[i].keys[k].value, elems[i].keys[k].value_n);
			e->key[e->n_key++] = key;
		}
		p->elem[p->n_elem++] = e;
	}
	return p;
}

static Gnmi__TypedValue *value_of(struct arena *a, const struct speak_value *v)
{
	Gnmi__TypedValue *t = arena_new_of(a, Gnmi__TypedValue);
	gnmi__typed_value__init(t);
	switch (v->kind) {
	case SPEAK_INT:
		t->value_case = GNMI__TYPED_VALUE__VALUE_INT_VAL;
		t->int_val = strtoll(v->text, NULL, 10);
		break;
	case SPEAK_UINT:
		t->value_case = GNMI__TYPED_VALUE__VALUE_UINT_VAL;
		t->uint_val = strtoull(v->text, NULL, 10);
		break;
	case SPEAK_BOOL:
		t->value_case = GNMI__TYPED_VALUE__VALUE_BOOL_VAL;
		t->bool_val = strcmp(v->text, "true") == 0;
		break;
	case SPEAK_DOUBLE:
		t->value_case = GNMI__TYPED_VALUE__VALUE_DOUBLE_VAL;
		t->double_val = strtod(v->text, NULL);
		break;
	case SPEAK_JSON:
		t->value_case = GNMI__TYPED_VALUE__VALUE_JSON_VAL;
		t->json_val = bytes_of_text(v->text);
		break;
	case SPEAK_JSON_IETF:
		t->value_case = GNMI__TYPED_VALUE__VALUE_JSON_IETF_VAL;
		t->json_ietf_val = bytes_of_text(v->text);
		break;
	case SPEAK_ASCII:
		t->value_case = GNMI__TYPED_VALUE__VALUE_ASCII_VAL;
		t->ascii_val = bytes_of_text(v->text);
		break;
	default:
		t->value_case = GNMI__TYPED_VALUE__VALUE_STRING_VAL;
		t->string_val = bytes_of_text(v->text);
	}
	return t;
}

static Gnmi__Notification *notification_of(struct arena *a, int64_t t_ns, const char *target,
	const char *origin, const struct speak_value *v, size_t n)
{
	Gnmi__Notification *m = arena_new_of(a, Gnmi__Notification);
	gnmi__notification__init(m);
	m->timestamp = t_ns;
	if (*target || *origin) {
		m->prefix = arena_new_of(a, Gnmi__Path);
		gnmi__path__init(m->prefix);
		m->prefix->target = (char *)target;
		m->prefix->origin = (char *)origin;
	}
	m->update = arena_array(a, Gnmi__Update *, n + 1);
	for (size_t i = 0; i < n; i++) {
		Gnmi__Update *u = arena_new_of(a, Gnmi__Update);
		gnmi__update__init(u);
		u->path = path_of(a, v[i].path);
		u->val = value_of(a, &v[i]);
		m->update[m->n_update++] = u;
	}
	return m;
}

static struct speak_bytes response(struct arena *a, const Gnmi__SubscribeResponse *r)
{
	struct speak_bytes b = {.n = gnmi__subscribe_response__get_packed_size(r)};
	b.p = arena_alloc(a, b.n + 1);
	gnmi__subscribe_response__pack(r, b.p);
	return b;
}

struct speak_bytes speak_notification(struct arena *a, int64_t t_ns, const char *target,
	const char *origin, const struct speak_value *v, size_t n)
{
	Gnmi__SubscribeResponse r = GNMI__SUBSCRIBE_RESPONSE__INIT;
	r.response_case = GNMI__SUBSCRIBE_RESPONSE__RESPONSE_UPDATE;
	r.update = notification_of(a, t_ns, target, origin, v, n);
	return response(a, &r);
}

struct speak_bytes speak_deletes(
	struct arena *a, int64_t t_ns, const char *target, const char *const *paths, size_t n)
{
	Gnmi__SubscribeResponse r = GNMI__SUBSCRIBE_RESPONSE__INIT;
	r.response_case = GNMI__SUBSCRIBE_RESPONSE__RESPONSE_UPDATE;
	r.update = notification_of(a, t_ns, target, "", NULL, 0);
	r.update->delete_ = arena_array(a, Gnmi__Path *, n + 1);
	for (size_t i = 0; i < n; i++)
		r.update->delete_[r.update->n_delete_++] = path_of(a, paths[i]);
	return response(a, &r);
}

struct speak_bytes speak_sync(struct arena *a)
{
	Gnmi__SubscribeResponse r = GNMI__SUBSCRIBE_RESPONSE__INIT;
	r.response_case = GNMI__SUBSCRIBE_RESPONSE__RESPONSE_SYNC_RESPONSE;
	r.sync_response = 1;
	return response(a, &r);
}

struct speak_bytes speak_get(struct arena *a, int64_t t_ns, const char *target, const char *origin,
	const struct speak_value *v, size_t n)
{
	Gnmi__GetResponse r = GNMI__GET_RESPONSE__INIT;
	Gnmi__Notification *m = notification_of(a, t_ns, target, origin, v, n);
	r.notification = &m;
	r.n_notification = 1;
	struct speak_bytes b = {.n = gnmi__get_response__get_packed_size(&r)};
	b.p = arena_alloc(a, b.n + 1);
	gnmi__get_response__pack(&r, b.p);
	return b;
}

struct speak_bytes speak_capabilities(struct arena *a, const unsigned *encodings, size_t n,
	const char *const *models, size_t n_models)
{
	Gnmi__CapabilityResponse r = GNMI__CAPABILITY_RESPONSE__INIT;
	r.gnmi_version = (char *)"0.8.0";
	r.supported_encodings = arena_array(a, Gnmi__Encoding, n + 1);
	for (size_t i = 0; i < n; i++)
		r.supported_encodings[r.n_supported_encodings++] = (Gnmi__Encoding)encodings[i];
	r.supported_models = arena_array(a, Gnmi__ModelData *, n_models + 1);
	for (size_t i = 0; i < n_models; i++) {
		Gnmi__ModelData *m = arena_new_of(a, Gnmi__ModelData);
		gnmi__model_data__init(m);
		m->name = (char *)models[i];
		m->organization = (char *)"fake";
		m->version = (char *)"1.0.0";
		r.supported_models[r.n_supported_models++] = m;
	}
	struct speak_bytes b = {.n = gnmi__capability_response__get_packed_size(&r)};
	b.p = arena_alloc(a, b.n + 1);
	gnmi__capability_response__pack(&r, b.p);
	return b;
}
