# SPDX-License-Identifier: Apache-2.0
# Debian packages, by CPack: the target `deb`, or `cpack` in the build folder once all is built.
# debian/finish.cmake adds what only packages have. DEBFULLNAME and DEBEMAIL name who makes them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME halftone)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "neural networks in a few bits per weight and activation")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SOURCE halftone)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian/finish.cmake)
set(CPACK_HALFTONE_DATE ${HALFTONE_VERSION_DATE})  # for that script
set(maintainer "Halftone developers <halftone@example.org>")
if(DEFINED ENV{DEBEMAIL})
  set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_PACKAGE_CONTACT ${maintainer})

set(same "(= ${PROJECT_VERSION})")
set(about "Halftone represents the weights and activations of trained neural networks\n\
by a few bits each and computes with xor and popcount.")
# halftone_package(<component> <package> [SECTION s] [DEPENDS d] ABOUT text)
function(halftone_package component package)
  cmake_parse_arguments(ARG "" "SECTION;DEPENDS;SUGGESTS;ABOUT" "" ${ARGN})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${ARG_DEPENDS}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SUGGESTS "${ARG_SUGGESTS}" PARENT_SCOPE)
  if(ARG_SECTION)
    set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${ARG_SECTION} PARENT_SCOPE)
  endif()
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${about}\n.\n${ARG_ABOUT}" PARENT_SCOPE)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
endfunction()
set(CPACK_COMPONENTS_ALL "")
set(soversion ${PROJECT_VERSION_MAJOR})
if(TARGET halftone_lm_text)
  set(text_packages "libpcre2-dev, libutf8proc-dev, zlib1g-dev, ")
endif()
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/triggers)
halftone_package(runtime libhalftone${soversion} SECTION libs
  ABOUT "This package has the shared library with the C API.")
halftone_package(development libhalftone-dev SECTION libdevel
  # All but the first are for the static library, whose C++ is linked into a C program.
  DEPENDS "libhalftone${soversion} ${same}, libprotobuf-dev, ${text_packages}g++ | libstdc++-dev"
  ABOUT "This package has the headers, the static library, and what CMake and\npkg-config need.")
halftone_package(programs halftone SUGGESTS "halftone-train ${same}, openmpi-bin"
  ABOUT "This package has the program, its manual, and completion of bash and zsh.")
if(TARGET halftone-train)
  halftone_package(training halftone-train DEPENDS "halftone ${same}"
    ABOUT "This package has the program that trains, which halftone starts.")
endif()
foreach(library compress train spmd)
  if(TARGET libhalftone_${library})
    string(TOUPPER ${library} upper)
    halftone_package(${library} libhalftone-${library}${soversion} SECTION libs
      ABOUT "This package has the shared library for C++ programs: ${library}.")
    set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/triggers)
    halftone_package(${library}_development libhalftone-${library}-dev SECTION libdevel
      DEPENDS "libhalftone-${library}${soversion} ${same}, libhalftone-dev ${same}"
      ABOUT "This package has what CMake needs to find the component ${library}.")
  endif()
endforeach()
if(TARGET libhalftone_litert)
  halftone_package(litert libhalftone-litert${soversion} SECTION libs
    ABOUT "This package has the operators of Halftone for LiteRT.")
endif()
if(TARGET libhalftone_onnxruntime)
  halftone_package(onnxruntime libhalftone-onnxruntime${soversion} SECTION libs
    ABOUT "This package has the operators of Halftone for ONNX Runtime.")
endif()
include(CPack)

set(packaged halftone halftone_libraries)
foreach(target halftone_texts halftone-train)
  if(TARGET ${target})
    list(APPEND packaged ${target})
  endif()
endforeach()
add_custom_target(deb COMMAND ${CMAKE_CPACK_COMMAND} -G DEB
  WORKING_DIRECTORY ${PROJECT_BINARY_DIR} COMMENT "Making Debian packages" VERBATIM)
add_dependencies(deb ${packaged})
