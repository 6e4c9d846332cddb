# Third-party libraries, static where the distribution ships archives; the README says why each is here.
if(POLICY CMP0167)
    cmake_policy(SET CMP0167 NEW)  # Boost's own package files, not CMake's finder
endif()
set(OPENSSL_USE_STATIC_LIBS ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)

# libseccomp comes without a CMake package; the archive spares users its shared library.
find_path(SECCOMP_INCLUDE_DIR seccomp.h REQUIRED)
find_library(SECCOMP_LIBRARY NAMES libseccomp.a seccomp REQUIRED)
add_library(seccomp::seccomp UNKNOWN IMPORTED)
set_target_properties(seccomp::seccomp PROPERTIES
    IMPORTED_LOCATION "${SECCOMP_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${SECCOMP_INCLUDE_DIR}")

# Settings every user of Boost must agree on. Only headers are used: protocol compiles Boost.JSON.
add_library(kcoral_boost INTERFACE)
target_link_libraries(kcoral_boost INTERFACE Boost::headers Threads::Threads)
target_compile_definitions(kcoral_boost INTERFACE
    BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_BOOST_COROUTINE
    BOOST_JSON_NO_LIB BOOST_CONTAINER_NO_LIB)
if(KCORAL_SANITIZE MATCHES "thread")
    # ThreadSanitizer does not understand fences, and g++ says so. Asio's locks order all we need.
    target_compile_definitions(kcoral_boost INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()

if(KCORAL_TESTS)
    find_package(GTest REQUIRED)
endif()
if(KCORAL_BENCH)
    find_package(benchmark REQUIRED)
endif()
