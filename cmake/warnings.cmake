# The warnings our own code is held to.
add_library(kcoral_warnings INTERFACE)
target_compile_options(kcoral_warnings INTERFACE -Wall -Wextra -Wpedantic
    -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual -Wno-missing-field-initializers)
# Off by default: a compiler newer than ours must not break the build of somebody who only wants to use it.
option(KCORAL_WERROR "Treat warnings as errors; the presets do" OFF)
if(KCORAL_WERROR)
    target_compile_options(kcoral_warnings INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 sees dangling and maybe-uninitialised values in code the optimiser itself made.
    target_compile_options(kcoral_warnings INTERFACE -Wshadow=local -Wno-maybe-uninitialized
                                                     -Wno-mismatched-new-delete
                                                     -Wno-restrict)
else()
    target_compile_options(kcoral_warnings INTERFACE -Wshadow)
endif()
