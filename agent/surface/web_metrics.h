/* web_metrics - /metrics of the web server: the page of agent/surface/metrics in the format that
 * the scraper asks for. */
#ifndef RW_SURFACE_WEB_METRICS_H
#define RW_SURFACE_WEB_METRICS_H

#include "agent/surface/web_documents.h"

/* web_metrics_subject - what to make for a request with this Accept header; NULL: none was sent.
 * Static. */
const struct web_subject *web_metrics_subject(const char *accept);

#endif
