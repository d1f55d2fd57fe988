rw_fuzz(config rw_config)
