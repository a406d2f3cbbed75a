// The documented example, held to the byte.
// RUN: kb-opt -passes='schedule{as="rows team=32"}' --quiet -o %t.cu %S/../examples/before.cu
// RUN: diff %S/../examples/after.cu %t.cu
