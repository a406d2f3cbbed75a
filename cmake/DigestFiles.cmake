# SPDX-License-Identifier: Apache-2.0
#
# cmake -DOUT=file -DTEXT=text "-DFILES=a.h;b.td" [-DQUOTED=1] -P DigestFiles.cmake
#
# Writes a digest of TEXT and of the bytes of FILES, as a C++ literal if it is to be QUOTED. A file that is right
# already is left alone, so that nothing is built again for it.
set(parts "${TEXT}")
foreach(file ${FILES})
  file(SHA256 "${file}" digest)
  string(APPEND parts " ${digest}")
endforeach()
string(SHA256 digest "${parts}")
if(QUOTED)
  set(digest "\"${digest}\"")
endif()
set(old "")
if(EXISTS "${OUT}")
  file(READ "${OUT}" old)
endif()
if(NOT old STREQUAL digest)
  file(WRITE "${OUT}" "${digest}")
endif()
