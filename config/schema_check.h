/*
 * schema_check - what the rows of schema.c name as .check. Each returns 0, or -EINVAL with @e: what
 * was read and what is expected, to stand behind the name of the key and "is".
 */
#ifndef RW_CONFIG_SCHEMA_CHECK_H
#define RW_CONFIG_SCHEMA_CHECK_H

struct err;

int schema_check_name(const char *text, struct err *e);
int schema_check_policy_key(const char *text, struct err *e);
int schema_check_device_name(const char *text, struct err *e);
int schema_check_text(const char *text, struct err *e);
int schema_check_source(const char *text, struct err *e);
int schema_check_hosts(const char *text, struct err *e); /* "node-001,gpu-*" */
int schema_check_address(const char *text, struct err *e);
int schema_check_listen(const char *text, struct err *e);
int schema_check_sflow_port(const char *text, struct err *e); /* "7=Ethernet4" */
int schema_check_objects(const char *text, struct err *e); /* config/push_objects.h */
int schema_check_trap_listen(const char *text, struct err *e);
int schema_check_http_listen(const char *text, struct err *e);
int schema_check_network(const char *text, struct err *e);
int schema_check_ip(const char *text, struct err *e);
int schema_check_no_login(const char *text, struct err *e);
int schema_check_url(const char *text, struct err *e);
/* a URL with {cause} in it */
int schema_check_runbook_url(const char *text, struct err *e);
int schema_check_smtp_url(const char *text, struct err *e);
int schema_check_syslog(const char *text, struct err *e);
int schema_check_mail_address(const char *text, struct err *e);
int schema_check_interface(const char *text, struct err *e);
int schema_check_endpoint(const char *text, struct err *e);
int schema_check_priority(const char *text, struct err *e);

#endif
