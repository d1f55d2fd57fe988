rw_fuzz(samples_tsv rw_collectors)
rw_fuzz(import_sonic rw_agent)
