rw_unit(replay rw_collectors)
rw_unit(ledger rw_agent)
rw_unit(pipeline rw_agent)
rw_unit(control rw_agent)
