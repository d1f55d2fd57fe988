/* sflow_reason - the words of sFlow's drop reasons. Source: sflow.org "sFlow Dropped Packet
 * Notification Structures", enum drop_reason; 0 to 15 are the codes of ICMP destination
 * unreachable, from 256 on those of switches (Linux devlink trap names). */

#include "collectors/packet/sflow/sflow_decode.h"

#define SWITCH_REASONS 256u

static const char *const icmp_reasons[] = {"net_unreachable", "host_unreachable",
	"protocol_unreachable", "port_unreachable", "frag_needed", "src_route_failed",
	"dst_net_unknown", "dst_host_unknown", "src_host_isolated", "dst_net_prohibited",
	"dst_host_prohibited", "dst_net_tos_unreachable", "dst_host_tos_unreachable",
	"comm_admin_prohibited", "host_precedence_violation", "precedence_cutoff"};

static const char *const switch_reasons[] = {"unknown", "ttl_exceeded", "acl", "no_buffer_space",
	"red", "traffic_shaping", "pkt_too_big", "src_mac_is_multicast", "vlan_tag_mismatch",
	"ingress_vlan_filter", "ingress_spanning_tree_filter", "port_list_is_empty",
	"port_loopback_filter", "blackhole_route", "non_ip", "uc_dip_over_mc_dmac",
	"dip_is_loopback_address", "sip_is_mc", "sip_is_loopback_address", "ip_header_corrupted",
	"ipv4_sip_is_limited_bc", "ipv6_mc_dip_reserved_scope", "ipv6_mc_dip_interface_local_scope",
	"unresolved_neigh", "mc_reverse_path_forwarding", "non_routable_packet", "decap_error",
	"overlay_smac_is_mc", "unknown_l2", "unknown_l3", "unknown_l3_exception", "unknown_buffer",
	"unknown_tunnel", "unknown_l4", "sip_is_unspecified", "mlag_port_isolation",
	"blackhole_arp_neigh", "src_mac_is_dmac", "dmac_is_reserved", "sip_is_class_e",
	"mc_dmac_mismatch", "sip_is_dip", "dip_is_local_network", "dip_is_link_local",
	"overlay_smac_is_dmac", "egress_vlan_filter", "uc_reverse_path_forwarding", "split_horizon",
	"locked_port", "dmac_filter", "blackhole_nexthop", "vxlan_parsing", "llc_snap_parsing",
	"vlan_parsing", "pppoe_ppp_parsing", "mpls_parsing", "arp_parsing", "ip_1_parsing",
	"ip_n_parsing", "gre_parsing", "udp_parsing", "tcp_parsing", "ipsec_parsing",
	"sctp_parsing", "dccp_parsing", "gtp_parsing", "esp_parsing"};

char *sflow_reason_text(char buf[SFLOW_REASON_MAX], uint32_t reason)
{
	if (reason < rw_countof(icmp_reasons))
		snprintf(buf, SFLOW_REASON_MAX, "%s", icmp_reasons[reason]);
	else if (reason >= SWITCH_REASONS && reason - SWITCH_REASONS < rw_countof(switch_reasons))
		snprintf(buf, SFLOW_REASON_MAX, "%s", switch_reasons[reason - SWITCH_REASONS]);
	else
		snprintf(buf, SFLOW_REASON_MAX, "reason_%u", reason);
	return buf;
}
