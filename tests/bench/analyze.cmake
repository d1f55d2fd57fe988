rw_bench(bench_analyze rw_analyzers rw_config rw_db)
