# package_stage.cmake - run by CPack on what was installed for the package: the form that the distribution asks for. Documents in Debian's
# places, manual pages and changelogs packed, every time that of the newest change.
set(epoch $ENV{SOURCE_DATE_EPOCH}) # set by scripts/package
if(NOT epoch)
	string(TIMESTAMP epoch "%s" UTC)
endif()
set(stage ${CPACK_TEMPORARY_DIRECTORY}/usr)
set(doc ${stage}/share/doc/rocewatch)
set(lintian ${stage}/share/lintian/overrides)
if(NOT CPACK_RW_DYGRAPHS_COPYRIGHT)
	message(FATAL_ERROR "the license of dygraphs is not beside dygraph.min.js: name its text, cmake -DRW_DYGRAPHS_LICENSE=FILE")
endif()
file(GLOB pages ${stage}/share/man/*/*.[1-8])

if(CPACK_GENERATOR STREQUAL "RPM")
	file(COPY_FILE ${CPACK_RW_DYGRAPHS_COPYRIGHT} ${doc}/LICENSE.dygraphs)
	execute_process(COMMAND gzip -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
	execute_process(COMMAND find ${stage} -exec touch -h -d @${epoch} {} + COMMAND_ERROR_IS_FATAL ANY)
	execute_process(COMMAND find ${stage} -type f -not -perm /111 -exec chmod 644 {} + COMMAND_ERROR_IS_FATAL ANY)
	return()
endif()
if(CPACK_RW_NO_OWNER)
	message(FATAL_ERROR "the Debian package cannot ask for what no package owns:${CPACK_RW_NO_OWNER}; build with the distribution's libraries")
endif()

# copyright: ours, and that of the chart library, which is part of the program; its text is that of the package it came from
file(READ ${CPACK_RW_SOURCE}/config/debian/copyright copyright)
string(APPEND copyright "\nFiles: dygraph.min.js dygraph.min.css\nCopyright: 2006-2023 Dan Vanderkam and others, as below\nLicense: dygraphs\n")
file(READ ${CPACK_RW_DYGRAPHS_COPYRIGHT} theirs)
string(STRIP "${theirs}" theirs)
string(REGEX REPLACE "[ \t]*\n" "\n " theirs "${theirs}")
string(REPLACE "\n \n" "\n .\n" theirs "${theirs}")
file(WRITE ${doc}/copyright "${copyright} ${theirs}\n")
file(REMOVE ${doc}/LICENSE) # Debian has it once for all

# changelogs: that of the package points to that of the program
execute_process(COMMAND date -u -R -d @${epoch} OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(suite unstable)
if(EXISTS /etc/os-release)
	file(STRINGS /etc/os-release codename REGEX "^VERSION_CODENAME=[a-z]+$")
	string(REGEX REPLACE "^VERSION_CODENAME=" "" suite "${codename}")
endif()
file(WRITE ${doc}/changelog.Debian "rocewatch (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) ${suite}; urgency=medium

  * rocewatch ${CPACK_PACKAGE_VERSION}; what changed is in changelog.gz.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
file(COPY_FILE ${doc}/CHANGELOG.md ${doc}/changelog)
file(COPY ${CPACK_RW_SOURCE}/config/debian/lintian-overrides DESTINATION ${lintian})
file(RENAME ${lintian}/lintian-overrides ${lintian}/rocewatch)
execute_process(COMMAND gzip -9nf ${pages} ${doc}/changelog ${doc}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND find ${stage} -exec touch -h -d @${epoch} {} + COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND find ${stage} -type f -not -perm /111 -exec chmod 644 {} + COMMAND_ERROR_IS_FATAL ANY)
