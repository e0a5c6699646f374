# SPDX-License-Identifier: Apache-2.0
# What `make install` puts where: libraries, public headers, command, man page, completions, pkg-config file, CMake package.
include(CMakePackageConfigHelpers)

install(TARGETS colshuf EXPORT colshuf LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES $<TARGET_FILE:colshuf_static> DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/colshuf DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT colshuf NAMESPACE colshuf:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/colshuf FILE colshufTargets.cmake)
if(TARGET colshuf_cli)
  install(TARGETS colshuf_cli DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/docs/man/colshuf.1)
  install(FILES docs/man/colshuf.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
foreach(pair "bash:bash-completion/completions:colshuf" "zsh:zsh/site-functions:_colshuf" "fish:fish/vendor_completions.d:colshuf.fish")
  string(REPLACE ":" ";" parts ${pair})
  list(GET parts 0 shell)
  list(GET parts 1 folder)
  list(GET parts 2 name)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/completions/colshuf.${shell})
    install(FILES completions/colshuf.${shell} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} RENAME ${name})
  endif()
endforeach()

# The folder that holds the file says where all is: it stays true under another --prefix, DESTDIR and after a move.
file(RELATIVE_PATH COLSHUF_PREFIX_FROM_PC ${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" COLSHUF_PREFIX_FROM_PC "${COLSHUF_PREFIX_FROM_PC}")
configure_file(cmake/colshuf.pc.in colshuf.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/colshuf.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_package_config_file(cmake/colshufConfig.cmake.in colshufConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/colshuf)
write_basic_package_version_file(colshufConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/colshufConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/colshufConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/colshuf)
