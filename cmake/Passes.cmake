# SPDX-License-Identifier: Apache-2.0
#
# The folders of passes, and the script that reads them: for the registry and the pages (passes/), and for the
# seed knowledge's edges (lib/Target).
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_program(KBOPT_LLVM_TBLGEN NAMES llvm-tblgen llvm-tblgen-22 HINTS "${LLVM_TOOLS_BINARY_DIR}" REQUIRED)

file(GLOB declarations CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/passes/*/*/Pass.td"
  "${PROJECT_SOURCE_DIR}/passes/*/*/pass.yaml")
file(GLOB texts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/passes/*/*/examples/*.cu"
  "${PROJECT_SOURCE_DIR}/passes/*/*/prompt.md")
set(KBOPT_PASS_FOLDERS)
foreach(declaration ${declarations})
  get_filename_component(folder "${declaration}" DIRECTORY)
  list(APPEND KBOPT_PASS_FOLDERS "${folder}")
endforeach()

set(KBOPT_GENERATE_PASSES "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/GeneratePasses.py"
  --tblgen "${KBOPT_LLVM_TBLGEN}" --include "${PROJECT_SOURCE_DIR}/include")
# What it reads of every pass.
set(KBOPT_PASS_DECLARATIONS ${declarations} ${texts} "${PROJECT_SOURCE_DIR}/cmake/GeneratePasses.py"
  "${PROJECT_SOURCE_DIR}/include/kb-opt/Rewrite/Pass.td")
