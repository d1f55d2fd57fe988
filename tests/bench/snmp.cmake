rw_bench(fast_agent)
