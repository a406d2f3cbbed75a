# SPDX-License-Identifier: Apache-2.0
#
# Writes the commit of SOURCE as a macro to OUT, unless OUT has it: cmake -DSOURCE=… -DOUT=… -P WriteCommit.cmake
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git -C "${SOURCE}" describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT "${OUT}" CONTENT "#define KBOPT_COMMIT \"@commit@\"\n" @ONLY)
