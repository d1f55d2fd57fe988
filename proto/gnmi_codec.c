/* gnmi_codec - requests to bytes, responses to updates, by protobuf-c. Complete, not fast: the
 * walker (gnmi_walk.c) reads the usual stream. */
#include "proto/gnmi_codec.h"

#include <gnmi.pb-c.h>

_Static_assert((int)GNMI_POLL == GNMI__SUBSCRIPTION_LIST__MODE__POLL, "the wire's number");
_Static_assert((int)GNMI_SAMPLE == GNMI__SUBSCRIPTION_MODE__SAMPLE, "the wire's number");
_Static_assert((int)GNMI_ENC_JSON_IETF == GNMI__ENCODING__JSON_IETF, "the wire's number");
_Static_assert(
	(int)GNMI_OPERATIONAL == GNMI__GET_REQUEST__DATA_TYPE__OPERATIONAL, "the wire's number");

const char *gnmi_encoding_name(unsigned encoding)
{
	const ProtobufCEnumValue *v = NULL;
	if (encoding <= GNMI_ENC_JSON_IETF)
		v = protobuf_c_enum_descriptor_get_value(
			&gnmi__encoding__descriptor, (int)encoding);
	if (v)
		return v->name;
	return "unknown";
}

/* ---- memory for unpacking: from an arena, up to a limit; nothing is freed alone ---- */

struct unpack_pool {
	ProtobufCAllocator allocator;
	struct arena *arena;
	size_t left;
	bool full;
};

static void *pool_alloc(void *data, size_t size)
{
	struct unpack_pool *p = data;
	if (size > p->left) {
		p->full = true;
		return NULL;
	}
	p->left -= size;
	return arena_alloc(p->arena, size);
}

static void pool_free(void *data, void *memory)
{
}

/* gnmi_codec_unpack - NULL and *ret_r -EBADMSG or -EMSGSIZE. The message lives in @a. */
static void *gnmi_codec_unpack(const ProtobufCMessageDescriptor *type, const void *data, size_t n,
	struct arena *a, int *ret_r)
{
	size_t limit = GNMI_UNPACK_MAX;
	if (n <= GNMI_UNPACK_MAX / GNMI_UNPACK_FACTOR)
		limit = GNMI_UNPACK_FLOOR + GNMI_UNPACK_FACTOR * n;
	struct unpack_pool pool = {.arena = a, .left = limit};
	pool.allocator = (ProtobufCAllocator){
		.alloc = pool_alloc, .free = pool_free, .allocator_data = &pool};
	if (n > GNMI_MESSAGE_MAX) {
		*ret_r = -EMSGSIZE;
		return NULL;
	}
	if (n == 0)
		data = ""; /* protobuf-c takes no NULL */
	void *m = protobuf_c_message_unpack(type, &pool.allocator, n, data);
	if (m)
		*ret_r = 0;
	else if (pool.full)
		*ret_r = -EMSGSIZE;
	else
		*ret_r = -EBADMSG;
	return m;
}

static void *unpack_counted(const ProtobufCMessageDescriptor *type, const void *data, size_t n,
	const struct gnmi_decode *decode, struct arena *a, int *ret_r)
{
	void *m = gnmi_codec_unpack(type, data, n, a, ret_r);
	decode->counts->messages++;
	decode->counts->bytes += n;
	if (*ret_r == -EMSGSIZE)
		decode->counts->large_messages++;
	else if (!m)
		decode->counts->bad_messages++;
	return m;
}

/* ---- requests ------------------------------------------------------------ */

static void gnmi_codec_pack(
	const ProtobufCMessage *message, struct arena *a, struct gnmi_bytes *ret)
{
	size_t n = protobuf_c_message_get_packed_size(message);
	uint8_t *p = arena_alloc(a, n);
	protobuf_c_message_pack(message, p);
	*ret = (struct gnmi_bytes){p, n};
}

/* is_set - neither NULL nor "". */
static bool is_set(const char *text)
{
	return text && *text;
}

/* gnmi_codec_string_of - protobuf-c takes strings that end in NUL and are not const, though it only
 * reads them. */
static char *gnmi_codec_string_of(struct arena *a, const char *text, size_t n)
{
	return arena_strndup(a, text, n);
}

static int path_encode(const char *text, struct arena *a, Gnmi__Path **ret, struct err *e)
{
	struct gnmi_elem *elems;
	size_t n;
	text = str_or(text, "");
	int r = gnmi_path_parse(text, strlen(text), a, &elems, &n, e);
	if (r < 0)
		return r;
	Gnmi__Path *path = arena_new_of(a, Gnmi__Path);
	gnmi__path__init(path);
	path->elem = arena_array(a, Gnmi__PathElem *, n);
	for (; path->n_elem < n; path->n_elem++) {
		const struct gnmi_elem *from = &elems[path->n_elem];
		Gnmi__PathElem *to = path->elem[path->n_elem] = arena_new_of(a, Gnmi__PathElem);
		gnmi__path_elem__init(to);
		to->name = gnmi_codec_string_of(a, from->name, from->name_n);
		to->key = arena_array(a, Gnmi__PathElem__KeyEntry *, from->n_keys);
		for (; to->n_key < from->n_keys; to->n_key++) {
			const struct gnmi_key *key = &from->keys[to->n_key];
			Gnmi__PathElem__KeyEntry *entry = to->key[to->n_key] =
				arena_new_of(a, Gnmi__PathElem__KeyEntry);
			gnmi__path_elem__key_entry__init(entry);
			entry->key = gnmi_codec_string_of(a, key->name, key->name_n);
			entry->value = gnmi_codec_string_of(a, key->value, key->value_n);
		}
	}
	*ret = path;
	return 0;
}

/* prefix_encode - *ret is NULL when the prefix would be empty. */
static int prefix_encode(
	const struct gnmi_where *where, struct arena *a, Gnmi__Path **ret, struct err *e)
{
	bool origin = is_set(where->origin) && !where->origin_in_paths;
	*ret = NULL;
	if (!is_set(where->target) && !origin && !is_set(where->prefix))
		return 0;
	int r = path_encode(where->prefix, a, ret, e);
	if (r < 0)
		return r;
	if (is_set(where->target))
		(*ret)->target = arena_strdup(a, where->target);
	if (origin)
		(*ret)->origin = arena_strdup(a, where->origin);
	return 0;
}

static int path_at(const struct gnmi_where *where, const char *text, struct arena *a,
	Gnmi__Path **ret, struct err *e)
{
	int r = path_encode(text, a, ret, e);
	if (r == 0 && where->origin_in_paths && is_set(where->origin))
		(*ret)->origin = arena_strdup(a, where->origin);
	return r;
}

int gnmi_encode_subscribe(const struct gnmi_subscribe *subscribe, struct arena *a,
	struct gnmi_bytes *ret, struct err *e)
{
	Gnmi__SubscribeRequest request;
	Gnmi__SubscriptionList list;
	gnmi__subscribe_request__init(&request);
	gnmi__subscription_list__init(&list);
	request.request_case = GNMI__SUBSCRIBE_REQUEST__REQUEST_SUBSCRIBE;
	request.subscribe = &list;
	list.mode = (Gnmi__SubscriptionList__Mode)subscribe->mode;
	list.encoding = (Gnmi__Encoding)subscribe->encoding;
	int r = prefix_encode(&subscribe->where, a, &list.prefix, e);
	if (r < 0)
		return r;
	list.subscription = arena_array(a, Gnmi__Subscription *, subscribe->n);
	for (; list.n_subscription < subscribe->n; list.n_subscription++) {
		const struct gnmi_subscription *from = &subscribe->v[list.n_subscription];
		Gnmi__Subscription *to = list.subscription[list.n_subscription] =
			arena_new_of(a, Gnmi__Subscription);
		gnmi__subscription__init(to);
		r = path_at(&subscribe->where, from->path, a, &to->path, e);
		if (r < 0)
			return r;
		to->mode = (Gnmi__SubscriptionMode)from->mode;
		to->sample_interval = from->sample_ns;
		to->heartbeat_interval = from->heartbeat_ns;
		to->suppress_redundant = from->suppress_redundant;
	}
	gnmi_codec_pack(&request.base, a, ret);
	return 0;
}

void gnmi_encode_poll(struct arena *a, struct gnmi_bytes *ret)
{
	Gnmi__SubscribeRequest request;
	Gnmi__Poll poll;
	gnmi__subscribe_request__init(&request);
	gnmi__poll__init(&poll);
	request.request_case = GNMI__SUBSCRIBE_REQUEST__REQUEST_POLL;
	request.poll = &poll;
	gnmi_codec_pack(&request.base, a, ret);
}

int gnmi_encode_get(
	const struct gnmi_get *get, struct arena *a, struct gnmi_bytes *ret, struct err *e)
{
	Gnmi__GetRequest request;
	gnmi__get_request__init(&request);
	request.type = (Gnmi__GetRequest__DataType)get->type;
	request.encoding = (Gnmi__Encoding)get->encoding;
	int r = prefix_encode(&get->where, a, &request.prefix, e);
	if (r < 0)
		return r;
	request.path = arena_array(a, Gnmi__Path *, get->n);
	for (; request.n_path < get->n; request.n_path++) {
		const size_t i = request.n_path;
		r = path_at(&get->where, get->paths[i], a, &request.path[i], e);
		if (r < 0)
			return r;
	}
	gnmi_codec_pack(&request.base, a, ret);
	return 0;
}

void gnmi_encode_capabilities(struct arena *a, struct gnmi_bytes *ret)
{
	Gnmi__CapabilityRequest request;
	gnmi__capability_request__init(&request);
	gnmi_codec_pack(&request.base, a, ret);
}

/* ---- paths --------------------------------------------------------------- */

/* element_add - one string of the deprecated Path.element: a name, or "name[key=value]". A string
 * that does not parse is taken as a name. */
static bool element_add(struct gnmi_path *at, const char *text, bool plain_names, struct arena *a)
{
	struct gnmi_elem whole = {.name = text, .name_n = strlen(text)}, *v = &whole;
	size_t n = 1;
	if (whole.name_n > GNMI_PATH_MAX)
		return false;
	if (!strchr(text, '[') || gnmi_path_parse(text, whole.name_n, a, &v, &n, NULL) < 0 ||
		n != 1)
		v = &whole;
	return gnmi_path_add(at, v->name, v->name_n, v->keys, v->n_keys, plain_names);
}

static bool elem_add(struct gnmi_path *at, const Gnmi__PathElem *elem, bool plain_names)
{
	struct gnmi_key keys[GNMI_PATH_KEYS_MAX];
	if (elem->n_key > rw_countof(keys))
		return false;
	for (size_t i = 0; i < elem->n_key; i++) {
		const Gnmi__PathElem__KeyEntry *k = elem->key[i];
		keys[i] = (struct gnmi_key){k->key, k->value, strlen(k->key), strlen(k->value)};
	}
	return gnmi_path_add(at, elem->name, strlen(elem->name), keys, elem->n_key, plain_names);
}

/* path_add - adds a Path (NULL is an empty one). False, with @at as it was, when it breaks a limit.
 */
static bool path_add(
	struct gnmi_path *at, const Gnmi__Path *path, bool plain_names, struct arena *a)
{
	const size_t n = at->n;
	const unsigned elems = at->elems;
	bool ok = true;
	if (!path)
		return true;
	for (size_t i = 0; ok && i < path->n_elem; i++)
		ok = elem_add(at, path->elem[i], plain_names);
	for (size_t i = 0; ok && path->n_elem == 0 && i < path->n_element; i++)
		ok = element_add(at, path->element[i], plain_names, a);
	if (!ok)
		gnmi_path_cut(at, n, elems);
	return ok;
}

int gnmi_decode_path(const void *data, size_t n, bool plain_names, struct arena *scratch,
	struct gnmi_path *at, const char **ret_origin, const char **ret_target)
{
	int r;
	const Gnmi__Path *path = gnmi_codec_unpack(&gnmi__path__descriptor, data, n, scratch, &r);
	if (!path)
		return -EBADMSG;
	if (*path->origin)
		*ret_origin = path->origin;
	if (*path->target)
		*ret_target = path->target;
	if (path_add(at, path, plain_names, scratch))
		return 0;
	return -ERANGE;
}

/* ---- values -------------------------------------------------------------- */

struct delivery {
	const struct gnmi_decode *d;
	struct gnmi_update *u;
};

static void gnmi_codec_deliver(const struct gnmi_decode *decode, struct gnmi_update *update,
	const struct gnmi_path *at, const struct gnmi_value *value)
{
	update->path = gnmi_path_text(at);
	update->path_n = gnmi_path_length(at);
	update->value = *value;
	decode->counts->updates++;
	decode->counts->duplicates += update->duplicates;
	decode->fn(decode->arg, update);
}

static void deliver_leaf(void *arg, const struct gnmi_path *at, const struct gnmi_value *value)
{
	const struct delivery *to = arg;
	gnmi_codec_deliver(to->d, to->u, at, value);
}

void gnmi_deliver_json(const struct gnmi_decode *decode, struct gnmi_update *update,
	struct gnmi_path *at, const void *data, size_t n, struct arena *scratch)
{
	struct delivery to = {decode, update};
	if (gnmi_json_flatten(data, n, at, decode, scratch, deliver_leaf, &to) < 0)
		decode->counts->bad_json++;
}

static void text_value(
	struct gnmi_value *value, enum gnmi_kind kind, const ProtobufCBinaryData *data)
{
	value->kind = kind;
	if (data->len)
		value->p = (const char *)data->data;
	else
		value->p = "";
	value->n = data->len;
}

/* scalar_value - false when the value is not a single leaf: JSON, a list, nothing. */
static bool scalar_value(const Gnmi__TypedValue *from, struct gnmi_value *value)
{
	*value = (struct gnmi_value){0};
	switch (from->value_case) {
	case GNMI__TYPED_VALUE__VALUE_STRING_VAL:
		text_value(value, GNMI_STRING, &from->string_val);
		return true;
	case GNMI__TYPED_VALUE__VALUE_INT_VAL:
		value->kind = GNMI_INT;
		value->i = from->int_val;
		return true;
	case GNMI__TYPED_VALUE__VALUE_UINT_VAL:
		value->kind = GNMI_UINT;
		value->u = from->uint_val;
		return true;
	case GNMI__TYPED_VALUE__VALUE_BOOL_VAL:
		value->kind = GNMI_BOOL;
		value->b = from->bool_val;
		return true;
	case GNMI__TYPED_VALUE__VALUE_BYTES_VAL:
		text_value(value, GNMI_BYTES, &from->bytes_val);
		return true;
	case GNMI__TYPED_VALUE__VALUE_FLOAT_VAL:
		value->kind = GNMI_DOUBLE;
		value->d = from->float_val;
		return true;
	case GNMI__TYPED_VALUE__VALUE_DOUBLE_VAL:
		value->kind = GNMI_DOUBLE;
		value->d = from->double_val;
		return true;
	case GNMI__TYPED_VALUE__VALUE_DECIMAL_VAL:
		value->kind = GNMI_DECIMAL;
		value->i = from->decimal_val->digits;
		value->scale = from->decimal_val->precision;
		return true;
	case GNMI__TYPED_VALUE__VALUE_ANY_VAL:
		text_value(value, GNMI_PROTO, &from->any_val->value);
		return true;
	case GNMI__TYPED_VALUE__VALUE_ASCII_VAL:
		text_value(value, GNMI_ASCII, &from->ascii_val);
		return true;
	case GNMI__TYPED_VALUE__VALUE_PROTO_BYTES:
		text_value(value, GNMI_PROTO, &from->proto_bytes);
		return true;
	default: return false;
	}
}

static void deliver_value(const struct gnmi_decode *decode, struct gnmi_update *update,
	struct gnmi_path *at, const Gnmi__TypedValue *from, bool in_list, struct arena *scratch)
{
	struct gnmi_value v;
	if (scalar_value(from, &v)) {
		gnmi_codec_deliver(decode, update, at, &v);
		return;
	}
	switch (from->value_case) {
	case GNMI__TYPED_VALUE__VALUE_JSON_VAL:
		gnmi_deliver_json(
			decode, update, at, from->json_val.data, from->json_val.len, scratch);
		return;
	case GNMI__TYPED_VALUE__VALUE_JSON_IETF_VAL:
		gnmi_deliver_json(decode, update, at, from->json_ietf_val.data,
			from->json_ietf_val.len, scratch);
		return;
	case GNMI__TYPED_VALUE__VALUE_LEAFLIST_VAL:
		if (in_list)
			decode->counts->bad_lists++;
		else
			gnmi_deliver_list(decode, update, at, from->leaflist_val.data,
				from->leaflist_val.len, scratch);
		return;
	default: decode->counts->no_value++;
	}
}

void gnmi_deliver_list(const struct gnmi_decode *decode, struct gnmi_update *update,
	struct gnmi_path *at, const void *data, size_t n, struct arena *scratch)
{
	const size_t was = at->n;
	const unsigned elems = at->elems;
	int r;
	const Gnmi__ScalarArray *list =
		gnmi_codec_unpack(&gnmi__scalar_array__descriptor, data, n, scratch, &r);
	if (!list) {
		decode->counts->bad_lists++;
		return;
	}
	for (size_t i = 0; i < list->n_element; i++) {
		if (gnmi_path_add_index(at, i))
			deliver_value(decode, update, at, list->element[i], true, scratch);
		else
			decode->counts->bad_paths++;
		gnmi_path_cut(at, was, elems);
	}
}

/* deliver_old_value - of the deprecated Update.value, used before TypedValue. */
static void deliver_old_value(const struct gnmi_decode *decode, struct gnmi_update *update,
	struct gnmi_path *at, const Gnmi__Value *from, struct arena *scratch)
{
	static const int kinds[] = {[GNMI_ENC_JSON] = -1,
		[GNMI_ENC_BYTES] = GNMI_BYTES,
		[GNMI_ENC_PROTO] = GNMI_PROTO,
		[GNMI_ENC_ASCII] = GNMI_ASCII,
		[GNMI_ENC_JSON_IETF] = -1};
	struct gnmi_value v = {0};
	if ((unsigned)from->type >= rw_countof(kinds)) {
		decode->counts->no_value++;
	} else if (kinds[from->type] < 0) {
		gnmi_deliver_json(decode, update, at, from->value.data, from->value.len, scratch);
	} else {
		text_value(&v, (enum gnmi_kind)kinds[from->type], &from->value);
		gnmi_codec_deliver(decode, update, at, &v);
	}
}

/* ---- responses ----------------------------------------------------------- */

static void deliver_delete(
	const struct gnmi_decode *decode, struct gnmi_update *update, const struct gnmi_path *at)
{
	update->op = GNMI_DELETE;
	update->path = gnmi_path_text(at);
	update->path_n = gnmi_path_length(at);
	decode->counts->deletes++;
	decode->fn(decode->arg, update);
}

static void gnmi_codec_notification(const Gnmi__Notification *from, const struct gnmi_update *like,
	const struct gnmi_decode *decode, struct arena *scratch)
{
	struct gnmi_update u = *like;
	const char *origin = "";
	if (from->prefix)
		origin = from->prefix->origin;
	struct gnmi_path at;

	decode->counts->notifications++;
	u.clock = gnmi_clock(from->timestamp, &u.t_ns);
	if (u.clock != GNMI_CLOCK_OK)
		decode->counts->odd_clocks++;
	if (from->n_update == 0 && from->n_delete_ == 0 && !from->atomic)
		decode->counts->empty++;
	if (from->prefix)
		u.target = from->prefix->target;
	else
		u.target = "";
	gnmi_path_init(&at);
	if (!path_add(&at, from->prefix, decode->plain_names, scratch)) {
		decode->counts->bad_paths += from->n_update + from->n_delete_;
		return;
	}
	const size_t n = at.n;
	const unsigned elems = at.elems;
	if (from->atomic) {
		u.atomic = true;
		u.origin = origin;
		deliver_delete(decode, &u, &at);
	}
	for (size_t i = 0; i < from->n_delete_; i++, gnmi_path_cut(&at, n, elems)) {
		const Gnmi__Path *path = from->delete_[i];
		if (!path_add(&at, path, decode->plain_names, scratch)) {
			decode->counts->bad_paths++;
			continue;
		}
		u.atomic = false;
		if (*path->origin)
			u.origin = path->origin;
		else
			u.origin = origin;
		deliver_delete(decode, &u, &at);
	}
	u.op = GNMI_UPDATE;
	u.atomic = from->atomic;
	for (size_t i = 0; i < from->n_update; i++, gnmi_path_cut(&at, n, elems)) {
		const Gnmi__Update *update = from->update[i];
		if (!path_add(&at, update->path, decode->plain_names, scratch)) {
			decode->counts->bad_paths++;
			continue;
		}
		if (update->path && *update->path->origin)
			u.origin = update->path->origin;
		else
			u.origin = origin;
		u.duplicates = update->duplicates;
		if (update->val)
			deliver_value(decode, &u, &at, update->val, false, scratch);
		else if (update->value)
			deliver_old_value(decode, &u, &at, update->value, scratch);
		else
			decode->counts->no_value++;
	}
}

static struct gnmi_update update_like(GnmiExt__Extension **extensions, size_t n)
{
	struct gnmi_update u = {.path_id = GNMI_PATH_NONE,
		.target = "",
		.origin = "",
		.path = "",
		.value = {.p = ""}};
	for (size_t i = 0; i < n; i++) {
		if (extensions[i]->ext_case != GNMI_EXT__EXTENSION__EXT_REGISTERED_EXT)
			continue;
		u.extension_id = extensions[i]->registered_ext->id;
		u.extension_n = extensions[i]->registered_ext->msg.len;
		if (u.extension_n)
			u.extension = extensions[i]->registered_ext->msg.data;
		else
			u.extension = (const uint8_t *)"";
		break;
	}
	return u;
}

static void deliver_error(
	const Gnmi__Error *from, struct gnmi_update *update, const struct gnmi_decode *decode)
{
	update->op = GNMI_ERROR;
	update->code = from->code;
	update->value = (struct gnmi_value){
		.kind = GNMI_STRING, .p = from->message, .n = strlen(from->message)};
	decode->counts->errors++;
	decode->fn(decode->arg, update);
}

int gnmi_decode_subscribe(
	const void *data, size_t n, const struct gnmi_decode *decode, struct arena *scratch)
{
	int r;
	const Gnmi__SubscribeResponse *m =
		unpack_counted(&gnmi__subscribe_response__descriptor, data, n, decode, scratch, &r);
	if (!m)
		return r;
	struct gnmi_update u = update_like(m->extension, m->n_extension);
	switch (m->response_case) {
	case GNMI__SUBSCRIBE_RESPONSE__RESPONSE_UPDATE:
		gnmi_codec_notification(m->update, &u, decode, scratch);
		break;
	case GNMI__SUBSCRIBE_RESPONSE__RESPONSE_SYNC_RESPONSE:
		/* False says no more than silence. */
		if (!m->sync_response) {
			decode->counts->empty++;
			break;
		}
		u.op = GNMI_SYNC;
		decode->counts->syncs++;
		decode->fn(decode->arg, &u);
		break;
	case GNMI__SUBSCRIBE_RESPONSE__RESPONSE_ERROR: deliver_error(m->error, &u, decode); break;
	default: decode->counts->empty++;
	}
	return 0;
}

int gnmi_decode_get(
	const void *data, size_t n, const struct gnmi_decode *decode, struct arena *scratch)
{
	int r;
	const Gnmi__GetResponse *m =
		unpack_counted(&gnmi__get_response__descriptor, data, n, decode, scratch, &r);
	if (!m)
		return r;
	struct gnmi_update u = update_like(m->extension, m->n_extension);
	if (m->n_notification == 0 && !m->error)
		decode->counts->empty++;
	for (size_t i = 0; i < m->n_notification; i++)
		gnmi_codec_notification(m->notification[i], &u, decode, scratch);
	if (m->error)
		deliver_error(m->error, &u, decode);
	return 0;
}

int gnmi_decode_capabilities(
	const void *data, size_t n, struct arena *a, struct gnmi_capabilities *ret)
{
	int r;
	const Gnmi__CapabilityResponse *m =
		gnmi_codec_unpack(&gnmi__capability_response__descriptor, data, n, a, &r);
	if (!m)
		return r;
	struct gnmi_model *models = arena_array(a, struct gnmi_model, m->n_supported_models);
	unsigned *encodings = arena_array(a, unsigned, m->n_supported_encodings);
	for (size_t i = 0; i < m->n_supported_models; i++) {
		const Gnmi__ModelData *from = m->supported_models[i];
		models[i] = (struct gnmi_model){from->name, from->organization, from->version};
	}
	for (size_t i = 0; i < m->n_supported_encodings; i++)
		encodings[i] = (unsigned)m->supported_encodings[i];
	*ret = (struct gnmi_capabilities){.version = m->gnmi_version,
		.encodings = encodings,
		.n_encodings = m->n_supported_encodings,
		.models = models,
		.n_models = m->n_supported_models};
	return 0;
}

bool gnmi_capabilities_has(
	const struct gnmi_capabilities *capabilities, enum gnmi_encoding encoding)
{
	for (size_t i = 0; i < capabilities->n_encodings; i++)
		if (capabilities->encodings[i] == (unsigned)encoding)
			return true;
	return false;
}
