# SPDX-License-Identifier: Apache-2.0
# How every module of the house is declared: one library, one test program, explicit links.
include(GoogleTest)

add_library(halftone_flags INTERFACE)
target_include_directories(halftone_flags INTERFACE ${PROJECT_SOURCE_DIR})
# No contraction of a*b+c: results must be the same bits on every target and compiler.
target_compile_options(halftone_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Wswitch-enum -ffp-contract=off
  # So that a library or program leaves out what it does not call.
  -ffunction-sections -fdata-sections
  $<$<BOOL:${HALFTONE_WERROR}>:-Werror>
  # GCC 12 sees overlapping copies in operator+ of std::string (its bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # In a unity build GCC takes a source for a header, where an unnamed namespace would be a mistake.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>)
target_compile_definitions(halftone_flags INTERFACE $<$<CONFIG:Debug>:HALFTONE_DEBUG>)
if(HALFTONE_SANITIZE)
  target_compile_options(halftone_flags INTERFACE
    -fsanitize=${HALFTONE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    # What the address sanitizer sees anyhow, and a quarter of the time to compile.
    -fno-sanitize=null,object-size)
  target_link_options(halftone_flags INTERFACE -fsanitize=${HALFTONE_SANITIZE})
  target_compile_definitions(halftone_flags INTERFACE HALFTONE_DEBUG)
endif()
if(HALFTONE_BUILD_FUZZERS)
  # Coverage counters in the libraries are what guides a fuzzer through them.
  target_compile_options(halftone_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(halftone_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# halftone_precompile(name <header> ...)
# Declares target `name`, whose headers, and the common ones of the standard library, other targets
# of the same flags reuse: much of what compiling costs is reading them again. Sources include what
# they use all the same: the preset `tidy` precompiles nothing.
function(halftone_precompile name)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cc CONTENT "")
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/${name}.cc)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name} PRIVATE halftone_flags)
  target_precompile_headers(${name} PRIVATE <algorithm> <array> <cmath> <cstring> <filesystem>
    <functional> <map> <memory> <optional> <span> <string> <string_view> <unordered_map> <variant>
    <vector> ${ARGN})
endfunction()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  halftone_precompile(halftone_precompiled)
endif()
# Half of the time to compile goes into optimising, which reading files and printing does not need.
# (And then GCC takes what is in an empty std::optional for used: its bug 80635.)
set(halftone_plain_options $<$<CONFIG:Release>:-O1>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
halftone_precompile(halftone_precompiled_plain)
target_compile_options(halftone_precompiled_plain PRIVATE ${halftone_plain_options})
if(HALFTONE_BUILD_TESTS)
  # Optimising a test costs more than running it; what it tests keeps the flags of the build type.
  set(halftone_test_options $<IF:$<CONFIG:Debug>,-O0,-O1>)
endif()

# halftone_precompile_for_tests(name <header> ...)
# The same for tests, with what all of them include.
function(halftone_precompile_for_tests name)
  halftone_precompile(${name} <gmock/gmock.h> <gtest/gtest.h> ${ARGN})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest)
  target_compile_options(${name} PRIVATE ${halftone_test_options})
endfunction()
if(HALFTONE_BUILD_TESTS)
  halftone_precompile_for_tests(halftone_precompiled_tests)
endif()

# halftone_library(name [PLAIN] [WHOLE] SOURCES a.cc ... [PUBLIC lib ...] [PRIVATE lib ...]
#                  [PRECOMPILED target])
# Declares the module `name` as target halftone_<name>, alias halftone::<name>. PRECOMPILED names
# a target of halftone_precompile() to use instead of the one of the standard library. PLAIN modules
# read, write and print, and are hardly optimised; those that compute have the flags of the build.
# Sources of WHOLE modules are compiled at once in a unity build, which reads headers once: half of
# the time where there were three units. Their local names differ in the whole module.
function(halftone_library name)
  cmake_parse_arguments(ARG "PLAIN;WHOLE" "PRECOMPILED" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  # With a precompiled standard library GCC 12 warns of strings that are fine when it optimises.
  if(ARG_PLAIN AND NOT ARG_PRECOMPILED)
    set(ARG_PRECOMPILED halftone_precompiled_plain)
  elseif(NOT ARG_PRECOMPILED AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
    set(ARG_PRECOMPILED halftone_precompiled)
  endif()
  add_library(halftone_${name} STATIC ${ARG_SOURCES})
  # Programs and shared libraries are made of the same objects.
  set_target_properties(halftone_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  add_library(halftone::${name} ALIAS halftone_${name})
  target_link_libraries(halftone_${name} PUBLIC ${ARG_PUBLIC} PRIVATE halftone_flags ${ARG_PRIVATE})
  target_include_directories(halftone_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  if(ARG_WHOLE)
    set_target_properties(halftone_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 0)
  endif()
  if(ARG_PLAIN)
    target_compile_options(halftone_${name} PRIVATE ${halftone_plain_options})
  endif()
  if(ARG_PRECOMPILED)
    target_precompile_headers(halftone_${name} REUSE_FROM ${ARG_PRECOMPILED})
  endif()
endfunction()

# halftone_plugin(name <source>)
# Declares libhalftone_<name>, which another runtime loads: module `name` and a source with the functions
# that it looks for, which symbols.map of the folder shows. The source is the target
# halftone_<name>_entry, because a program that hides what its libraries export must show them too.
function(halftone_plugin name source)
  add_library(halftone_${name}_entry OBJECT ${source})
  set_target_properties(halftone_${name}_entry PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(halftone_${name}_entry PRIVATE halftone_flags halftone::${name})
  target_compile_options(halftone_${name}_entry PRIVATE ${halftone_plain_options})
  if(HALFTONE_SANITIZE OR HALFTONE_BUILD_FUZZERS)
    return()
  endif()
  set(map ${CMAKE_CURRENT_SOURCE_DIR}/symbols.map)
  add_library(libhalftone_${name} MODULE $<TARGET_OBJECTS:halftone_${name}_entry>)
  set_target_properties(libhalftone_${name} PROPERTIES
    OUTPUT_NAME halftone_${name} PREFIX lib LINKER_LANGUAGE CXX HALFTONE_WITHOUT_ONEDNN ON
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib LINK_DEPENDS ${map})
  target_link_libraries(libhalftone_${name} PRIVATE halftone::${name})
  # The library stays where its threads may run.
  target_link_options(libhalftone_${name} PRIVATE -Wl,--version-script=${map} -Wl,--as-needed
    -Wl,-z,nodelete -Wl,--no-undefined -Wl,--gc-sections -static-libgcc)
endfunction()

# halftone_test(name SOURCES a_test.cc ... LINK lib ... [LABEL unit] [PRECOMPILED target])
# Declares the test program `name`; each of its tests becomes a CTest case with the label. Under a
# sanitizer, where starting a program takes longer than most tests, a case is a quarter of them.
# PRECOMPILED names a target of halftone_precompile_for_tests() to use instead of the common one.
function(halftone_test name)
  if(NOT HALFTONE_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "LABEL;PRECOMPILED" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_PRECOMPILED)
    set(ARG_PRECOMPILED halftone_precompiled_tests)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE halftone_flags ${ARG_LINK} GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${halftone_test_options})
  target_precompile_headers(${name} REUSE_FROM ${ARG_PRECOMPILED})
  if(HALFTONE_SANITIZE)
    set(shards 4)
    foreach(shard RANGE 1 ${shards})
      math(EXPR index "${shard} - 1")
      add_test(NAME ${name}/${shard}of${shards} COMMAND ${name} --gtest_brief=1)
      set_tests_properties(${name}/${shard}of${shards} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 1200
        ENVIRONMENT "OMP_WAIT_POLICY=passive;GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index}")
    endforeach()
    return()
  endif()
  # An emulator computes a hundred times slower than the processor it runs on.
  set(timeout 300)
  if(CMAKE_CROSSCOMPILING_EMULATOR)
    set(timeout 3600)
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
    TEST_PREFIX "${name}/"
    PROPERTIES LABELS ${ARG_LABEL} ENVIRONMENT "OMP_WAIT_POLICY=passive" TIMEOUT ${timeout})
endfunction()

# halftone_benchmark(name SOURCES a_bench.cc ... LINK lib ...)
# Declares the benchmark program benchmarks/<name>, built by the target `benchmarks` only.
function(halftone_benchmark name)
  if(NOT HALFTONE_BUILD_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE halftone_flags ${ARG_LINK} benchmark::benchmark_main)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/benchmarks)
  add_dependencies(benchmarks ${name})
endfunction()

# halftone_fuzzer(name LINK lib ...)
# Declares the libFuzzer program fuzzers/fuzz_<name> from fuzz_<name>.cc. Its seeds lie in
# fuzz/corpus/<name>/, where it has any.
function(halftone_fuzzer name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(fuzz_${name} fuzz_${name}.cc)
  target_link_libraries(fuzz_${name} PRIVATE halftone_flags ${ARG_LINK} -fsanitize=fuzzer)
  set_target_properties(fuzz_${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzzers)
endfunction()
