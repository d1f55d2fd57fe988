rw_fuzz(gnmi_codec rw_proto)
rw_fuzz(gnmi_walk rw_proto)
rw_fuzz(gnmi_json rw_proto PkgConfig::JANSSON)
