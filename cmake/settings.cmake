# Compiler settings every target shares: the language, optimisation defaults, sanitizers, ccache.
add_library(kcoral_settings INTERFACE)
target_compile_features(kcoral_settings INTERFACE cxx_std_23)
target_include_directories(kcoral_settings INTERFACE "${CMAKE_SOURCE_DIR}/src"
                                                     "${CMAKE_SOURCE_DIR}/include")
target_compile_definitions(kcoral_settings INTERFACE KCORAL_VERSION="${PROJECT_VERSION}")

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()

if(KCORAL_SANITIZE)
    target_compile_options(kcoral_settings INTERFACE -fsanitize=${KCORAL_SANITIZE}
                                                     -fno-omit-frame-pointer)
    target_link_options(kcoral_settings INTERFACE -fsanitize=${KCORAL_SANITIZE})
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()
