# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where. All paths are relative to the prefix, so that the whole may be
# moved. Components: runtime, the shared library; development, its headers, CMake and pkg-config files
# and the static library; programs, the program with its manual and the completion of shells; training,
# the program that trains; compress, train and spmd, further libraries, each with NAME_development; litert and
# onnxruntime, the libraries of operators that LiteRT and ONNX Runtime load.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Halftone)
set(library_targets "")
# halftone_install_library(<target> <component> <development>)
# Installs a library, if this build has it, and the file by which find_package() finds its component.
# An EXPORT_NAME of the target is the name behind Halftone::.
function(halftone_install_library target component development)
  if(NOT TARGET ${target})
    return()
  endif()
  install(TARGETS ${target} EXPORT Halftone-${component}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component}
      NAMELINK_COMPONENT ${development}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${development})
  install(EXPORT Halftone-${component} NAMESPACE Halftone:: DESTINATION ${package_folder}
    COMPONENT ${development})
  set(library_targets ${library_targets} ${target} PARENT_SCOPE)
endfunction()
halftone_install_library(libhalftone runtime development)
halftone_install_library(libhalftone_static runtime_static development)
halftone_install_library(libhalftone_compress compress compress_development)
halftone_install_library(libhalftone_train train train_development)
halftone_install_library(libhalftone_spmd spmd spmd_development)
foreach(plugin litert onnxruntime)
  if(TARGET libhalftone_${plugin})
    # Programs load it by its path; it goes where libhalftone goes.
    install(TARGETS libhalftone_${plugin} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
      COMPONENT ${plugin})
    list(APPEND library_targets libhalftone_${plugin})
  endif()
endforeach()
add_custom_target(halftone_libraries DEPENDS ${library_targets})

install(DIRECTORY include/halftone DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
configure_package_config_file(cmake/HalftoneConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/HalftoneConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/HalftoneConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
file(RELATIVE_PATH relative_prefix
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
if(TARGET halftone_lm_text)
  set(text_libraries "-lpcre2-8 -lutf8proc -lz ")
endif()
configure_file(cmake/halftone.pc.in ${PROJECT_BINARY_DIR}/package/halftone.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/HalftoneConfig.cmake
  ${PROJECT_BINARY_DIR}/package/HalftoneConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/package/halftone.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

install(TARGETS halftone RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
if(TARGET halftone_texts)
  set(texts ${PROJECT_BINARY_DIR}/share)
  install(DIRECTORY ${texts}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT programs)
  install(FILES ${texts}/halftone.bash RENAME halftone COMPONENT programs
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${texts}/_halftone COMPONENT programs
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()
if(TARGET halftone-train)
  # Optional: `make` does not build it.
  install(TARGETS halftone-train RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT training
    OPTIONAL)
endif()
