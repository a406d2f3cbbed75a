// The documented example, held to the byte.
// RUN: kb-opt -passes=add-restrict-const --quiet -o %t %S/../examples/before.cu
// RUN: diff %S/../examples/after.cu %t
// Applying the pass to its own result changes nothing.
// RUN: kb-opt -passes=add-restrict-const --quiet -o %t.again %t
// RUN: diff %t %t.again
