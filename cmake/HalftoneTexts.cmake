# SPDX-License-Identifier: Apache-2.0
# Text files that become part of the program.

# halftone_embed_texts(<folder> <template> <output> [<extension>])
# Writes the C++ source <output>: the template, in which @text_rows@ is a list of rows
# {"stem", "contents"} of all files with the extension (toml) in the folder, in the order of their
# names.
function(halftone_embed_texts folder template output)
  set(extension toml)
  if(ARGC GREATER 3)
    set(extension ${ARGV3})
  endif()
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*.${extension})
  list(SORT files)
  set(text_rows "")
  foreach(file IN LISTS files)
    cmake_path(GET file STEM stem)
    file(READ ${file} text)
    string(APPEND text_rows "    {\"${stem}\", R\"text(${text})text\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  configure_file(${template} ${output} @ONLY)
endfunction()
