# pcap/: captures are made by make_captures, pcap/<capture>.json is what `rocewatch pcap --format json` says of each; tshark, where it is
# installed, must agree on what it can tell. `cmake --build . --target golden_pcap_update` rewrites the answers; review the diff.
add_executable(make_captures pcap/make_captures.c ${CMAKE_SOURCE_DIR}/collectors/packet/icrc.c)
set(check ${CMAKE_CURRENT_SOURCE_DIR}/pcap/check.py $<TARGET_FILE:make_captures> $<TARGET_FILE:rocewatch>)
add_test(NAME golden.pcap COMMAND ${check})
set_tests_properties(golden.pcap PROPERTIES LABELS golden TIMEOUT 120)
add_custom_target(golden_pcap_update COMMAND ${check} --update DEPENDS make_captures rocewatch)
