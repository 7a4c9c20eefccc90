# SPDX-License-Identifier: Apache-2.0
# 64-bit Arm on another processor: Debian's cross compiler, and QEMU to run what it builds. The
# libraries come from scripts/arm64_libraries.sh. Not Clang 14: it replaces x < 0 ? 0 : x, which leaves
# -0 alone, by an instruction that does not.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

get_filename_component(CMAKE_FIND_ROOT_PATH ${CMAKE_CURRENT_LIST_DIR}/../build/arm64/root ABSOLUTE)
if(NOT EXISTS ${CMAKE_FIND_ROOT_PATH})
  message(FATAL_ERROR "No libraries for 64-bit Arm in ${CMAKE_FIND_ROOT_PATH}: run scripts/arm64_libraries.sh")
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
