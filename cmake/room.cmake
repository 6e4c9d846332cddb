# kcoral_room(name SOURCES ... [TESTS ...] [DEPENDS ...] [PRIVATE_DEPENDS ...] [TEST_DEPENDS ...])
#
# Declares the room src/<name> as the static library kcoral_<name> and its unit tests, which stand
# beside the sources as *_test.cpp, as the program kcoral_<name>_test (one CTest entry a room).
function(kcoral_room name)
    cmake_parse_arguments(room "" "" "SOURCES;TESTS;DEPENDS;PRIVATE_DEPENDS;TEST_DEPENDS" ${ARGN})
    add_library(kcoral_${name} STATIC ${room_SOURCES})
    target_link_libraries(kcoral_${name} PUBLIC kcoral_settings ${room_DEPENDS}
                                         PRIVATE kcoral_warnings ${room_PRIVATE_DEPENDS})
    if(KCORAL_TESTS AND room_TESTS)
        add_executable(kcoral_${name}_test ${room_TESTS})
        target_link_libraries(kcoral_${name}_test PRIVATE kcoral_${name} kcoral_warnings
            ${room_PRIVATE_DEPENDS} ${room_TEST_DEPENDS} GTest::gmock GTest::gtest_main)
        add_test(NAME ${name} COMMAND kcoral_${name}_test)
        set_tests_properties(${name} PROPERTIES TIMEOUT 300)
    endif()
endfunction()
