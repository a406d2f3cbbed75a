# SPDX-License-Identifier: Apache-2.0
#
# The layers of the project, lowest first: which libraries of the project each one may use.
#
# This is the one table of them. CMake links a library with what its row names and with nothing else, and
# scripts/check-layering holds every include to it and the table of docs/Architecture.md to its order. A library may
# use only what stands above it.
#
#   kbopt_layer(name USES libraries… PACKAGES targets… PCH precompiled header)
#
# `kbrt` stands for the plan model of runtime/plan. Rows below Driver have folders of their own outside lib/.
function(kbopt_layer name)
  cmake_parse_arguments(ARG "" "PCH" "USES;PACKAGES" ${ARGN})
  set_property(GLOBAL APPEND PROPERTY KBOPT_LAYERS "${name}")
  foreach(field PCH USES PACKAGES)
    set_property(GLOBAL PROPERTY "KBOPT_${field}_${name}" "${ARG_${field}}")
  endforeach()
endfunction()

kbopt_layer(Support PCH LLVM PACKAGES LLVM)
kbopt_layer(Core PCH LLVM PACKAGES LLVM)
kbopt_layer(Target PCH LLVM USES Support)
kbopt_layer(Store PCH LLVM USES Support kbrt PACKAGES SQLite::SQLite3)
kbopt_layer(IR PCH Kb PACKAGES MLIR LLVM)
kbopt_layer(Source PCH Clang USES Support PACKAGES clang-cpp LLVM)
kbopt_layer(Analysis PCH Kb USES Support IR Source PACKAGES clang-cpp MLIR LLVM)
kbopt_layer(Raise PCH Kb USES IR Analysis PACKAGES clang-cpp MLIR LLVM)
kbopt_layer(Schedule PCH Kb USES IR Target PACKAGES MLIR LLVM)
kbopt_layer(Plan PCH LLVM USES Support kbrt)
kbopt_layer(Eval PCH LLVM USES Support Core Target Plan kbrt PACKAGES LLVM)
kbopt_layer(Screen PCH LLVM USES Support Core Plan Eval kbrt PACKAGES LLVM)
kbopt_layer(LLM PCH LLVM USES Support Core)
kbopt_layer(Knowledge PCH LLVM USES Support Core Target kbrt)
kbopt_layer(Assisted PCH LLVM USES Support Core LLM)
kbopt_layer(Rewrite PCH Kb USES Support Core Assisted IR Source Analysis Raise Schedule Knowledge kbrt PACKAGES clang-cpp MLIR LLVM)
kbopt_layer(Policy PCH LLVM USES Support Core Knowledge LLM)
kbopt_layer(Pipeline PCH Kb USES Support Core Target Assisted IR Source Analysis Schedule Rewrite PACKAGES clang-cpp MLIR LLVM)
kbopt_layer(Report PCH LLVM USES Core PACKAGES LLVM)
kbopt_layer(Findings PCH Kb USES Core Target Source Rewrite PACKAGES clang-cpp MLIR)
kbopt_layer(Lock PCH Clang USES Support Source Report PACKAGES clang-cpp LLVM)
kbopt_layer(Agents PCH Clang USES Support Plan LLM Knowledge Assisted Rewrite Policy Pipeline PACKAGES clang-cpp MLIR LLVM)
kbopt_layer(Candidate PCH Clang
  USES Support Core Target Store Source Analysis Plan Eval Screen Knowledge Assisted Rewrite Policy Pipeline Report Findings Agents kbrt
  PACKAGES clang-cpp MLIR LLVM)
kbopt_layer(Driver PCH Clang
  USES Candidate Agents Findings Lock Support Core Target Store Source Analysis Raise Plan Eval LLM Knowledge Assisted Rewrite Policy
       Pipeline Report kbrt
  PACKAGES clang-cpp MLIR LLVM)

kbopt_layer(passes USES Analysis Rewrite)
kbopt_layer(tools/kb-opt USES Driver)
kbopt_layer(tools/bundle USES Support Driver)
kbopt_layer(tools/kb-knowledge USES Support Knowledge kbrt)
kbopt_layer(tools/kb-opt-cc)
kbopt_layer(tools/kbopt-clang USES Findings Rewrite)
kbopt_layer(tools/kb-run USES kbrt)
kbopt_layer(runtime USES kbrt)
