# kcoral._core: what runs inside a worker, as an extension of the worker environment's Python.
#
# It carries its own C++ runtime and hides its symbols, so that it meets no other library's in a
# process that also loads torch and compilers. KCORAL_PYTHON chooses the interpreter it is built for.
set(default_python python3)
if(EXISTS "${CMAKE_SOURCE_DIR}/.venv/bin/python3")
    set(default_python "${CMAKE_SOURCE_DIR}/.venv/bin/python3")
endif()
set(KCORAL_PYTHON "${default_python}" CACHE STRING "The Python to build the worker's extension for")
find_program(kcoral_python "${KCORAL_PYTHON}" REQUIRED)
set(Python_EXECUTABLE "${kcoral_python}")
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)

execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
    OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE nanobind_missing)
if(nanobind_missing)
    message(FATAL_ERROR "${Python_EXECUTABLE} has no nanobind: install it there "
                        "(pip install nanobind) or choose another Python with KCORAL_PYTHON")
endif()
find_package(nanobind CONFIG REQUIRED)

nanobind_add_module(_core NB_STATIC NOMINSIZE
    arguments.cpp array_values.cpp compiler_errors.cpp core.cpp dict_changes.cpp
    executor.cpp failure.cpp integer_digits.cpp interpreter_knobs.cpp module_state.cpp modules.cpp process_state.cpp
    python.cpp surroundings.cpp uploads.cpp values.cpp worker_main.cpp zygote.cpp)
# Their headers are not held to our warnings.
target_include_directories(_core SYSTEM PRIVATE ${Python_INCLUDE_DIRS} ${NB_DIR}/include)
target_link_libraries(_core PRIVATE kcoral_worker kcoral_sandbox kcoral_warnings)
target_link_options(_core PRIVATE -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL)
set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_SOURCE_DIR}/python/kcoral")
