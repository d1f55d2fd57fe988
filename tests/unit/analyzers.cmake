rw_unit(chance rw_analyzers)
