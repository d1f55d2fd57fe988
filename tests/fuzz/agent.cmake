rw_fuzz(samples_tsv rw_collectors)
