// The documented example, held to the byte.
// RUN: kb-opt -passes=hoist-to-launch --quiet -o %t.cu %S/../examples/before.cu
// RUN: diff %S/../examples/after.cu %t.cu
// Applying the pass to its own result changes nothing.
// RUN: kb-opt -passes=hoist-to-launch --quiet -o %t.again.cu %t.cu
// RUN: diff %t.cu %t.again.cu
