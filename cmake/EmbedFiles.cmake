# SPDX-License-Identifier: Apache-2.0
#
# cmake -DROOT=folder -DMADE=folder -DOUT=file.cpp "-DFILES=a.json,b.json" -P EmbedFiles.cmake
#
# Writes the bytes of FILES (relative to ROOT, or to MADE for what the build makes) as one C++ table, sorted by path,
# for lib/Target/Builtin.cpp. Text only: no file may hold the delimiter )KBFILE".
string(REPLACE "," ";" files "${FILES}")
list(SORT files)
set(out "#include \"kb-opt/Target/Builtin.h\"\n\nnamespace kbopt {\nextern const BuiltinFile builtinFiles[];\nextern const size_t builtinFileCount;\n\nconst BuiltinFile builtinFiles[] = {\n")
set(count 0)
foreach(file ${files})
  if(EXISTS "${MADE}/${file}")
    file(READ "${MADE}/${file}" bytes)
  else()
    file(READ "${ROOT}/${file}" bytes)
  endif()
  # Compilers limit the length of one literal: break at 12,000 characters.
  set(literals "")
  string(LENGTH "${bytes}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${bytes}" ${at} 12000 piece)
    string(APPEND literals "R\"KBFILE(${piece})KBFILE\"\n")
    math(EXPR at "${at} + 12000")
  endwhile()
  string(APPEND out "{\"${file}\", ${literals}\"\"},\n")
  math(EXPR count "${count} + 1")
endforeach()
string(APPEND out "};\nconst size_t builtinFileCount = ${count};\n} // namespace kbopt\n")
file(WRITE "${OUT}" "${out}")
