rw_unit(chance rw_analyzers)
rw_unit(ecmp_imbalance rw_analyzers)
rw_unit(formulas rw_analyzers)
rw_unit(spine_imbalance rw_agent)
