add_library(gnmi_world STATIC gnmi_world.c)
target_link_libraries(gnmi_world PUBLIC rw_collectors gnmi_server_lib PkgConfig::CMOCKA PkgConfig::OPENSSL)
rw_unit(gnmi gnmi_world)
rw_unit(gnmi_profiles gnmi_world)
