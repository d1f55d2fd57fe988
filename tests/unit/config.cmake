rw_unit(yaml rw_config)
rw_unit(option rw_config)
rw_unit(config rw_config)
rw_unit(fabric rw_config)
