# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where. All paths are relative to the prefix, so that the whole may be
# moved. Components: runtime (the library), development (headers, CMake, pkg-config), programs.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Halftone)
install(TARGETS libhalftone EXPORT HalftoneTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY include/halftone DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT HalftoneTargets NAMESPACE Halftone:: DESTINATION ${package_folder}
  COMPONENT development)
configure_package_config_file(cmake/HalftoneConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/HalftoneConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/HalftoneConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
file(RELATIVE_PATH relative_prefix
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/halftone.pc.in ${PROJECT_BINARY_DIR}/package/halftone.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/HalftoneConfig.cmake
  ${PROJECT_BINARY_DIR}/package/HalftoneConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/package/halftone.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

install(TARGETS halftone RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
if(TARGET halftone-train)
  # Optional: `make` does not build it.
  install(TARGETS halftone-train RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs
    OPTIONAL)
endif()
