# SPDX-License-Identifier: Apache-2.0
# 64-bit Arm on another processor: Debian's cross compiler, and QEMU to run what it builds. The
# libraries come from scripts/arm64_libraries.sh. Not Clang 14: it replaces x < 0 ? 0 : x, which leaves
# -0 alone, by an instruction that does not.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

get_filename_component(CMAKE_FIND_ROOT_PATH ${CMAKE_CURRENT_LIST_DIR}/../build/arm64/root ABSOLUTE)
if(NOT EXISTS ${CMAKE_FIND_ROOT_PATH})
  message(FATAL_ERROR "No libraries for 64-bit Arm in ${CMAKE_FIND_ROOT_PATH}: run scripts/arm64_libraries.sh")
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${CMAKE_FIND_ROOT_PATH})
# Where the compiler and the linker look for what is included and linked in turn.
set(CMAKE_CXX_FLAGS_INIT "-isystem ${CMAKE_FIND_ROOT_PATH}/usr/include/aarch64-linux-gnu")
set(CMAKE_EXE_LINKER_FLAGS_INIT
  "-Wl,-rpath-link,${CMAKE_FIND_ROOT_PATH}/usr/lib/aarch64-linux-gnu:${CMAKE_FIND_ROOT_PATH}/lib/aarch64-linux-gnu")
# The emulator's folder has every library; no file says where.
set(CMAKE_SKIP_RPATH ON)
