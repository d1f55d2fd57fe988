rw_bench(bench_pcap rw_collectors)
