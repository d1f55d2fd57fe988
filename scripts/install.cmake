# install.cmake - what `cmake --install` puts where (GNUInstallDirs). The configuration in /etc is the site's: only an example is installed.
include(GNUInstallDirs)

# The unit names the program by its full path.
file(READ config/system/rocewatch.service unit)
string(REPLACE "/usr/bin/rocewatch" "${CMAKE_INSTALL_FULL_BINDIR}/rocewatch" unit "${unit}")
string(REPLACE "/usr/share/doc/rocewatch" "${CMAKE_INSTALL_FULL_DOCDIR}" unit "${unit}")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/rocewatch.service CONTENT "${unit}" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS config/system/rocewatch.service)

install(TARGETS rocewatch RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS rocewatch_sqlite LIBRARY DESTINATION lib/rocewatch) # what other programs load to read samples
install(FILES ${CMAKE_BINARY_DIR}/rocewatch.service DESTINATION lib/systemd/system)
install(FILES config/system/rocewatch.sysusers DESTINATION lib/sysusers.d RENAME rocewatch.conf)
install(FILES config/system/rocewatch.tmpfiles DESTINATION lib/tmpfiles.d RENAME rocewatch.conf)
install(FILES config/system/capture.conf config/system/netns.conf config/system/addresses.conf config/system/secrets.conf
	DESTINATION ${CMAKE_INSTALL_DATADIR}/rocewatch/system)
install(FILES config/rocewatch.yaml DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
# `rocewatch lab` looks for the simulated fabric here, and it for its scenarios beside.
if(TARGET rocewatch-lab)
	install(TARGETS rocewatch-lab RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/rocewatch)
	install(DIRECTORY tests/fabric/scenarios DESTINATION ${CMAKE_INSTALL_DATADIR}/rocewatch FILES_MATCHING PATTERN "*.yaml")
endif()
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs FILES_MATCHING PATTERN "*.md" PATTERN "*.png")
install(DIRECTORY ${CMAKE_BINARY_DIR}/schema/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs/schema)
# What the build generates from the program's tables: man pages and completion.
install(DIRECTORY ${CMAKE_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR} OPTIONAL)
install(FILES config/prometheus/rocewatch.rules.yml config/prometheus/rocewatch.test.yml DESTINATION ${CMAKE_INSTALL_DATADIR}/rocewatch/prometheus)
install(FILES config/kubernetes/rocewatch.yaml DESTINATION ${CMAKE_INSTALL_DATADIR}/rocewatch/kubernetes)
install(FILES config/grafana/rocewatch.json DESTINATION ${CMAKE_INSTALL_DATADIR}/rocewatch/grafana)
# Reports: what mails them, and examples for cron and timers, which a site copies.
install(PROGRAMS config/reports/mail-report DESTINATION ${CMAKE_INSTALL_DATADIR}/rocewatch)
install(FILES config/reports/rocewatch.cron DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples/cron.d RENAME rocewatch)
install(DIRECTORY config/reports/systemd DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
