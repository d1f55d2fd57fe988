rw_bench(bench_store rw_db)
