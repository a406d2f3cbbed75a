# SPDX-License-Identifier: Apache-2.0
#
# The project's CMake vocabulary: one function per kind of target.
#
# Sources are globbed with CONFIGURE_DEPENDS: a file that lies in a library's
# folder belongs to the library, and adding one edits no list.

set(KBOPT_COMPILE_OPTIONS -Wall -Wextra -Wno-unused-parameter -Werror=return-type -UNDEBUG)

# scripts/sanitize sets it: "address" (with undefined behaviour) or "thread".
set(KBOPT_SANITIZE "" CACHE STRING "Sanitizer to build with")
if(KBOPT_SANITIZE STREQUAL "address")
  # Without RTTI there is nothing that vptr could look at.
  set(sanitizers -fsanitize=address,undefined -fno-sanitize=vptr,function -fno-sanitize-recover=undefined)
elseif(KBOPT_SANITIZE STREQUAL "thread")
  set(sanitizers -fsanitize=thread)
endif()
if(KBOPT_SANITIZE)
  add_compile_options(${sanitizers} -g1 -fno-omit-frame-pointer)
  add_link_options(${sanitizers})
endif()

# LLVM is built without exceptions and without RTTI, and so is everything that
# derives from its classes.
# -fPIC in executables too: they share precompiled headers with the libraries.
set(KBOPT_LLVM_OPTIONS -fno-exceptions -fno-rtti -O1 -fPIC)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  list(APPEND KBOPT_COMPILE_OPTIONS -fcolor-diagnostics)
  # Precompiled headers without a time stamp are what ccache can share.
  list(APPEND KBOPT_LLVM_OPTIONS "SHELL:-Xclang -fno-pch-timestamp")
endif()

# One precompiled header per family of headers, shared by all its users. That of a name
# that ends in Tests is compiled as unit tests are.
#
# A precompiled header holds the paths of its folder, so that it is compiled anew in each; ccache takes the digest
# beside it in its place, and finds what another clone of the project compiled with the like.
function(kbopt_add_pch name)
  file(WRITE "${PROJECT_BINARY_DIR}/pch/${name}.cpp.in" "")
  configure_file("${PROJECT_BINARY_DIR}/pch/${name}.cpp.in" "${PROJECT_BINARY_DIR}/pch/${name}.cpp" COPYONLY)
  add_library(kbPch${name} OBJECT "${PROJECT_BINARY_DIR}/pch/${name}.cpp")
  kbopt_set_llvm_flags(kbPch${name})
  if(name MATCHES "Tests$")
    kbopt_set_test_flags(kbPch${name})
  endif()
  target_precompile_headers(kbPch${name} PRIVATE ${ARGN})
  set_target_properties(kbPch${name} PROPERTIES CXX_COMPILER_LAUNCHER "")
  set(own)
  if("${ARGN}" MATCHES "kb-opt/IR/Kb.h")
    file(GLOB own CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/kb-opt/IR/*")
  endif()
  set(sum "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/kbPch${name}.dir/cmake_pch.hxx.pch.sum")
  string(REPLACE ";" " " headers "${ARGN}")
  add_custom_command(OUTPUT "${sum}"
    COMMAND "${CMAKE_COMMAND}" "-DOUT=${sum}" "-DTEXT=${headers} ${LLVM_PACKAGE_VERSION} ${CMAKE_CXX_COMPILER_VERSION}"
            "-DFILES=${own}" -P "${PROJECT_SOURCE_DIR}/cmake/DigestFiles.cmake"
    DEPENDS ${own} "${PROJECT_SOURCE_DIR}/cmake/DigestFiles.cmake" VERBATIM)
  add_custom_target(kbPchSum${name} DEPENDS "${sum}")
  add_dependencies(kbPch${name} kbPchSum${name})
endfunction()

# A test's own code is not optimised: compiling it takes more than half of the time otherwise.
function(kbopt_set_test_flags target)
  target_compile_options(${target} PRIVATE -O0)
  target_link_libraries(${target} PRIVATE GTest::gtest)
endfunction()

function(kbopt_set_llvm_flags target)
  target_compile_options(${target} PRIVATE ${KBOPT_COMPILE_OPTIONS} ${KBOPT_LLVM_OPTIONS})
  target_compile_definitions(${target} PRIVATE ${LLVM_DEFINITIONS_LIST})
  target_include_directories(${target} PUBLIC
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}/include" "${PROJECT_SOURCE_DIR}/runtime/include")
  target_include_directories(${target} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${CLANG_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
endfunction()

# Compiles the files of a target in few translation units: most of the time goes into headers and templates, which
# they share. Without it each object is made of one file, which suits work on few of them.
option(KBOPT_JOIN_SOURCES "Compile several source files as one translation unit" ON)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
function(kbopt_join_sources target)
  if(NOT KBOPT_JOIN_SOURCES)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  list(FILTER sources EXCLUDE REGEX "^${PROJECT_BINARY_DIR}|\\.h$|^\\$")
  list(TRANSFORM sources PREPEND "${folder}/" REGEX "^[^/]")
  execute_process(COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/JoinSources.py" 2500 ${sources}
    OUTPUT_VARIABLE units COMMAND_ERROR_IS_FATAL ANY)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source unit IN ZIP_LISTS sources units)
    set_source_files_properties("${source}" TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP "${unit}")
  endforeach()
endfunction()

# The library of a row of cmake/Layers.cmake: kbopt_add_library(Source) builds lib/Source/**.cpp into
# libkbSource.a and links it with what the row names.
function(kbopt_add_library name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/lib/${name}/*.cpp")
  add_library(kb${name} STATIC ${sources})
  kbopt_set_llvm_flags(kb${name})
  foreach(field PCH USES PACKAGES)
    get_property(${field} GLOBAL PROPERTY "KBOPT_${field}_${name}")
  endforeach()
  target_precompile_headers(kb${name} REUSE_FROM kbPch${PCH})
  list(TRANSFORM USES PREPEND kb)
  list(TRANSFORM USES REPLACE "^kbkbrt$" kbrtDatabase)
  target_link_libraries(kb${name} PUBLIC ${USES} ${PACKAGES})
  kbopt_join_sources(kb${name})
endfunction()

# kbopt_add_tool(kb-opt LINK kbDriver) builds tools/kb-opt/*.cpp.
function(kbopt_add_tool name)
  cmake_parse_arguments(ARG "" "PCH" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  add_executable(${name} ${sources})
  kbopt_set_llvm_flags(${name})
  if(ARG_PCH)
    target_precompile_headers(${name} REUSE_FROM kbPch${ARG_PCH})
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  kbopt_join_sources(${name})
endfunction()

# kbopt_add_unittest(Source PCH Clang LINK kbSource) builds the GoogleTest
# binary SourceTests from test/unit/Source/*.cpp; lit discovers its cases.
function(kbopt_add_unittest name)
  cmake_parse_arguments(ARG "" "PCH" "LINK;DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  add_executable(${name}Tests ${sources})
  kbopt_set_llvm_flags(${name}Tests)
  kbopt_set_test_flags(${name}Tests)
  target_precompile_headers(${name}Tests REUSE_FROM kbPch${ARG_PCH}Tests)
  target_link_libraries(${name}Tests PRIVATE ${ARG_LINK} kbTestSourceDir GTest::gtest_main)
  set_target_properties(${name}Tests PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  if(ARG_DEPENDS)
    add_dependencies(${name}Tests ${ARG_DEPENDS})
  endif()
  add_dependencies(kbopt-unittests ${name}Tests)
  kbopt_join_sources(${name}Tests)
endfunction()

string(REPLACE " " ";" LLVM_DEFINITIONS_LIST "${LLVM_DEFINITIONS}")
