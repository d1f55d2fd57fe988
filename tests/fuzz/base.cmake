rw_fuzz(unit rw_base)
