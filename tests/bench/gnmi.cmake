rw_bench(bench_gnmi_codec rw_proto)
