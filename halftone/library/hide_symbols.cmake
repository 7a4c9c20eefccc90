# SPDX-License-Identifier: Apache-2.0
# Makes every symbol of an object file local, but those of the C API.
#
#     cmake -D OBJECT=all.o -D OUTPUT=halftone.o -D NM=nm -D OBJCOPY=objcopy -P hide_symbols.cmake
#
# Without this, an inline function of the C++ library, of Eigen or fmt that a program has too would be
# shared with it: compiled with other flags, it could change results.

# objcopy lets "unique" symbols, the static variables of inline functions, be; so they become weak first.
execute_process(COMMAND ${NM} --defined-only ${OBJECT} OUTPUT_VARIABLE symbols
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " u [^\n]+" unique "${symbols}")
list(TRANSFORM unique REPLACE "^ u " "")
list(JOIN unique "\n" unique)
file(WRITE ${OUTPUT}.unique "${unique}\n")
execute_process(COMMAND ${OBJCOPY} --weaken-symbols=${OUTPUT}.unique ${OBJECT} ${OUTPUT}.weak
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${OBJCOPY} --wildcard --keep-global-symbol=halftone_* --strip-unneeded
    --remove-section=.comment ${OUTPUT}.weak ${OUTPUT}
  COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE ${OUTPUT}.unique ${OUTPUT}.weak)
