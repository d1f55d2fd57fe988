/* web_openapi - the description of the API (OpenAPI 3.0.3), printed from the table of documents. */
#ifndef RW_SURFACE_WEB_OPENAPI_H
#define RW_SURFACE_WEB_OPENAPI_H

#include <jansson.h>

/* web_openapi - the caller owns it. Any thread. */
json_t *web_openapi(void);

#endif
