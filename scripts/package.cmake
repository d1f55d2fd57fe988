# package.cmake - the package, by CPack: `scripts/package` builds it. On a system with dpkg a Debian package, else, where rpmbuild is, an
# rpm; `scripts/package --rpm` asks for that. The scripts of the package and what else only one of them asks for stand in config/debian and
# config/rpm; scripts/package_stage.cmake puts it in.
set(RW_PACKAGE_RELEASE 1 CACHE STRING "What follows the version in the name of the package")
include(${CMAKE_CURRENT_LIST_DIR}/places.cmake)
set(RW_PACKAGE_CONTACT "${RW_MAINTAINERS}" CACHE STRING "Who maintains the package")

find_program(RW_DPKG_SHLIBDEPS dpkg-shlibdeps)
find_program(RW_RPMBUILD rpmbuild)
if(RW_DPKG_SHLIBDEPS OR NOT RW_RPMBUILD)
	set(CPACK_GENERATOR DEB)
else()
	set(CPACK_GENERATOR RPM)
endif()
set(CPACK_PACKAGE_NAME rocewatch)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${RW_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_HOMEPAGE_URL "${RW_HOME_URL}")
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
# A library that no package owns, as one in /usr/local, stops the package only: package_stage.cmake says it.
find_program(DPKG_QUERY dpkg-query)
set(CPACK_RW_NO_OWNER "")
if(RW_DPKG_SHLIBDEPS AND DPKG_QUERY)
	foreach(library ${RW_LAZY_LIBRARIES})
		file(REAL_PATH ${library} path)
		execute_process(COMMAND ${DPKG_QUERY} -S ${path} OUTPUT_VARIABLE owner OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
		string(REGEX REPLACE ":.*" "" owner "${owner}")
		if(owner STREQUAL "")
			string(APPEND CPACK_RW_NO_OWNER " ${path}")
			continue()
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

# The rpm: rpmbuild reads from the program what it is linked with, but not what it loads when it is used.
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_RELEASE ${RW_PACKAGE_RELEASE})
set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0 AND MIT")
string(REPLACE "\n.\n" "\n\n" CPACK_RPM_PACKAGE_DESCRIPTION "${CPACK_DEBIAN_PACKAGE_DESCRIPTION}")
string(REPLACE "package snmpd" "package net-snmp" CPACK_RPM_PACKAGE_DESCRIPTION "${CPACK_RPM_PACKAGE_DESCRIPTION}")
set(CPACK_RPM_PACKAGE_VENDOR "rocewatch")
set(CPACK_RPM_PACKAGE_RELOCATABLE OFF) # the unit names the program by its full path
set(CPACK_RPM_PACKAGE_REQUIRES systemd)
set(bits "")
if(CMAKE_SIZEOF_VOID_P EQUAL 8)
	set(bits "()(64bit)")
endif()
foreach(soname ${RW_LAZY_SONAMES})
	string(APPEND CPACK_RPM_PACKAGE_REQUIRES ", ${soname}${bits}")
endforeach()
set(CPACK_RPM_POST_INSTALL_SCRIPT_FILE ${CMAKE_SOURCE_DIR}/config/rpm/post)
set(CPACK_RPM_PRE_UNINSTALL_SCRIPT_FILE ${CMAKE_SOURCE_DIR}/config/rpm/preun)
set(CPACK_RPM_POST_UNINSTALL_SCRIPT_FILE ${CMAKE_SOURCE_DIR}/config/rpm/postun)
# rpmbuild would strip again, make packages of debug symbols, and mark files by the time of packing
set(CPACK_RPM_SPEC_MORE_DEFINE "%global debug_package %{nil}
%global __strip /bin/true
%global _build_id_links none
%global use_source_date_epoch_as_buildtime 1
%global _buildhost localhost
%global source_date_epoch_from_changelog 0")
# Directories of the system are its own.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/lib/systemd /usr/lib/systemd/system /usr/lib/sysusers.d /usr/lib/tmpfiles.d
	/usr/libexec /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/man /usr/share/man/man1 /usr/share/man/man5
	/usr/share/man/man7 /usr/share/man/man8 /usr/share/zsh /usr/share/zsh/vendor-completions)

# for package_stage.cmake
set(CPACK_RW_SOURCE ${CMAKE_SOURCE_DIR})
# The text of the chart library's license: beside the library, as Debian and npm lay it, and as its release does.
find_file(RW_DYGRAPHS_LICENSE NAMES copyright LICENSE.txt LICENSE NO_DEFAULT_PATH PATHS /usr/share/doc/libjs-dygraphs
	${RW_DYGRAPHS} ${RW_DYGRAPHS}/..)
set(CPACK_RW_DYGRAPHS_COPYRIGHT ${RW_DYGRAPHS_LICENSE})
include(CPack)
