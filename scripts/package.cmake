# package.cmake - the Debian package, by CPack: `scripts/package` builds it. The maintainer scripts and what else only Debian asks for
# stand in config/debian; scripts/package_stage.cmake puts it in.
set(RW_PACKAGE_RELEASE 1 CACHE STRING "What follows the version in the name of the Debian package")
set(RW_PACKAGE_CONTACT "rocewatch maintainers <maintainers@rocewatch.invalid>" CACHE STRING "Maintainer: of the Debian package")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rocewatch)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${RW_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "watch over a RoCEv2 network: who slows the training down, and why")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"rocewatch polls the switches of a RoCEv2 fabric over SNMP and gNMI, receives
what switches and NICs push, and reads mirrored packets. It names the link,
queue or host that began a slowdown, its confidence, and what the waiting
costs; and it recommends PFC and ECN thresholds with evidence and rollback.
.
It has a live screen, a web page, alerts, reports for mail, checks for Nagios
and Icinga, metrics and rules for Prometheus, and a dashboard for Grafana. The
history is one SQLite file. It only reads: it never logs in to a switch.
.
A simulated fabric is included, to try everything without a switch
('rocewatch lab'; its SNMP switches need the package snmpd).")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/package)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/scripts/package_stage.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${RW_PACKAGE_RELEASE})
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Of these one each is on every machine with systemd; the others serve containers.
set(CPACK_DEBIAN_PACKAGE_DEPENDS
	"systemd | systemd-standalone-sysusers | systemd-sysusers, systemd | systemd-standalone-tmpfiles | systemd-tmpfiles")
# What is loaded when it is used (scripts/lazy.cmake) is not seen by dpkg-shlibdeps: the packages that own these files, of this version
# or newer.
find_program(DPKG_QUERY dpkg-query)
if(DPKG_QUERY)
	foreach(library ${RW_LAZY_LIBRARIES})
		file(REAL_PATH ${library} path)
		execute_process(COMMAND ${DPKG_QUERY} -S ${path} OUTPUT_VARIABLE owner OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
		string(REGEX REPLACE ":.*" "" owner "${owner}")
		if(owner STREQUAL "")
			message(FATAL_ERROR "no package owns ${path}: the Debian package could not ask for it")
		endif()
		execute_process(COMMAND ${DPKG_QUERY} -W -f "\${source:Upstream-Version}" ${owner} OUTPUT_VARIABLE version)
		string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", ${owner} (>= ${version})")
	endforeach()
endif()
# The lab's switches; reports by mail; the history in a shell; who reads /metrics.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "snmpd, default-mta | mail-transport-agent, sqlite3, prometheus, bash-completion")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/config/debian/postinst ${CMAKE_SOURCE_DIR}/config/debian/prerm
	${CMAKE_SOURCE_DIR}/config/debian/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# for package_stage.cmake
set(CPACK_RW_SOURCE ${CMAKE_SOURCE_DIR})
set(CPACK_RW_DYGRAPHS_COPYRIGHT /usr/share/doc/libjs-dygraphs/copyright)
include(CPack)
