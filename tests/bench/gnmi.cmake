rw_bench(bench_gnmi_codec rw_proto)
rw_bench(bench_gnmi rw_collectors gnmi_server_lib)
