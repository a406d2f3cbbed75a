// The documented example, held to the byte.
// RUN: kb-opt -passes=cache-row --quiet -o %t.cu %S/../examples/before.cu
// RUN: diff %S/../examples/after.cu %t.cu
